"""Agents and tools as MCP servers, the client side for other people's servers, and their manager."""

"""Agents and tools as MCP servers, the client side for other people's servers, and their manager.

``pointwork serve`` is the way out, ``[mcp.NAME]`` of ``pointwork.toml`` the way in. Needs the extra ``mcp``;
nothing of it is loaded before it is used.
"""

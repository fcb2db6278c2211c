"""What is known rather than said: facts, skills and the playbook, and forgetting what a source gave them."""

from pointwork.store import Store


def forget(store: Store, source: str) -> None:
    """Take a source out of the facts, the skills and the playbook: what rests on it alone goes."""
    from pointwork.memory.facts import Facts
    from pointwork.memory.playbook import Playbook
    from pointwork.memory.skills import Skills

    Playbook(store).forget(source)
    Facts(store).forget(source)
    Skills(store).forget(source)

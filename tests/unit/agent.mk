include tests/unit/agent_keeper.mk

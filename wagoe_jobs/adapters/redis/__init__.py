"""Jobs in redis or Valkey: every transition is one Lua script, so that no crash leaves a job half-way."""

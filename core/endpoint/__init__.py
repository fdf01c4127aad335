"""Call models behind an endpoint: client, transport, calls, addresses and replies."""

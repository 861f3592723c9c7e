"""A standard MCP client."""



def test_reference_client(environments, echo_server, run_client):
    run_client(environments.python("mcp"), "mcp_client", echo_server.url)

# SPDX-License-Identifier: Apache-2.0
"""What benches say to MCP servers: requests of both eras."""
import http.client
import json

META = 'io.modelcontextprotocol/'
MODERN, LEGACY = '2026-07-28', '2025-11-25'


def message(method, params, version):
    """(headers, body) of a request of this era."""
    headers = {'Host': '127.0.0.1', 'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
               'MCP-Protocol-Version': version}
    if version == MODERN:
        headers['Mcp-Method'] = method
        if 'name' in params:
            headers['Mcp-Name'] = params['name']
        params = params | {'_meta': {META + 'protocolVersion': MODERN, META + 'clientCapabilities': {},
                                     META + 'clientInfo': {'name': 'bench', 'version': '1'}}}
    return headers, {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}


def ask(port, token, method, params, version=MODERN, **more):
    """(headers, text, result) of one answer."""
    headers, body = message(method, params, version)
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    c.request('POST', '/mcp', json.dumps(body), headers | more | {'Authorization': f'Bearer {token}'})
    answer = c.getresponse()
    text = answer.read()
    c.close()
    assert answer.status == 200, (answer.status, text)
    data = text if text.startswith(b'{') else next(l[5:] for l in text.splitlines() if l.startswith(b'data:') and len(l) > 6)
    return answer, text, json.loads(data)['result']


def write_request(path, expected, method, params, version, **more):
    """For bench-load ask."""
    headers, body = message(method, params, version)
    head = '\r\n'.join(['POST /mcp HTTP/1.1', *(f'{k}: {v}' for k, v in (headers | more).items())])
    path.write_bytes(f'{expected}\r\n\r\n{head}\r\n\r\n{json.dumps(body)}'.encode())
    return path

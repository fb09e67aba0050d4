# SPDX-License-Identifier: Apache-2.0
"""Requests that might cost much, and how they are changed: for run-cost.

A request is {op, method, path, body, who}: body is JSON, and what the search changes. `seeds` has one for each kind of work that somebody
else's words can cause; `of_openapi` has one for every operation there is.
"""
import copy
import json

MOST = 64 * 1024  # bytes of a body
VERSION = 'ruleset/1'  # of a file of `countersign export`
HARD = '(a?){60}a{60}b|(x+x+)+y|[a-q][^u-z]{13}x|(.{1,9}){9}$'
TEXTS = ['a' * 40, 'a' * 2000, 'ab' * 1000, 'é' * 500, '1' * 300, '12345678901234567', 'x', '', '10.0.0.1', '1.2.3', '2026-11-15T22:51:44Z', 'a@b.example', 'https://a.example/' + 'b/' * 300]
PATTERNS = ['a', '^[a-z]*$', '(a?){40}a{40}', '[ab]*a[ab]{14}', '(a|b|ab)*c', '^(([a-z])+.)+[A-Z]([a-z])+$', '.*a.*a.*a.*a', '\\p{L}{0,3}x', '(.*)(.*)(.*)1', 'a{1,200}', '(ab{0,9}){0,9}c']
NUMBERS = [0, 1, -1, 0.1, 1e300, 12345678901234567, 0.30000000000000004, 1.7976931348623157e308, 5e-324, 1e-7, 9007199254740993]
WORDS = ['$equals', '$in', '$matches', '$contains', '$cidr', '$semverGt', '$notIn']


def size(request):
    return len(text_of(request)) if request['body'] is not None else 0


def text_of(request):
    return json.dumps(request['body'], ensure_ascii=False, separators=(',', ':')).encode('utf-8', 'replace')


# --- seeds -----------------------------------------------------------------------------------------


def patterns(n, text='a' * 2048, hard='(a|b|ab|[^c]){%d}c'):
    """The schema of the issue: as many patterns as fit, and a key they all look at."""
    return {'allOf': [{'pattern': hard % (i % 20 + 1)} for i in range(n)]}, text


def config(world, schema, value, kind='json'):
    return {'key': world.fresh('cfg'), 'type': kind, 'jsonSchema': schema, 'defaultValue': value}


def rules(n, condition):
    return [{'if': condition(i), 'value': i % 2 == 0} for i in range(n)]


def schemas():
    """Schemas with a value each: what is known to be costly somewhere."""
    many, text = patterns(480)
    some = patterns(150, hard='[ab]*a[ab]{%d}')[0]
    yield 'patterns', many, text
    yield 'patterns-some', some, 'ab' * 1024
    yield 'pattern-names', {'patternProperties': {f'(a|b|{i}){{1,20}}c': {} for i in range(180)}}, {'a' * 2000 + str(i): 1 for i in range(8)}
    yield 'pattern-large', {'pattern': '(a{1,30}b{1,30}){1,15}$'}, 'ab' * 8000
    yield 'enum', {'items': {'enum': [[i, 'x' * 20] for i in range(900)]}}, [[i, 'x' * 20] for i in range(900)][::-1]
    yield 'enum-deep', {'items': {'enum': [[[[1, 2, 3, i]]] for i in range(900)]}}, [[[[1, 2, 3, -1]]]] * 900
    yield 'divisors', {'items': {'allOf': [{'multipleOf': float(f'1.{i:03}e-300')} for i in range(900)]}}, [1] * 15000
    yield 'bounds', {'items': {'allOf': [{'minimum': i + 2} for i in range(900)]}}, [1] * 15000
    yield 'unique', {'uniqueItems': True}, [[i, 'abc'] for i in range(5000)]
    yield 'unique-inside', {'items': {'uniqueItems': True}, 'uniqueItems': True}, [[[j] for j in range(60)] for i in range(150)]
    bomb = {f'd{i}': {'allOf': [{'$ref': f'#/$defs/d{i + 1}'}] * 4} for i in range(30)} | {'d30': {'pattern': 'a*b'}}
    yield 'refs', {'$ref': '#/$defs/d0', '$defs': bomb}, 'a' * 200
    yield 'any-of', {'items': {'anyOf': [{'const': i} for i in range(700)]}}, list(range(-700, 0))
    yield 'one-of', {'items': {'oneOf': [{'properties': {'a': {'const': i}}, 'required': ['a']} for i in range(200)]}}, [{'a': -1}] * 500
    yield 'unevaluated', {'allOf': [{'properties': {f'p{i}': True}} for i in range(300)], 'unevaluatedProperties': False}, {f'p{i}': 1 for i in range(300)}
    yield 'required', {'items': {'required': [f'r{i}' for i in range(500)]}}, [{}] * 3000
    yield 'names', {'propertyNames': {'pattern': '^(a|b|ab){1,60}$'}}, {'ab' * 30 + str(i): 1 for i in range(400)}
    yield 'dependent', {'dependentRequired': {f'k{i}': [f'k{j}' for j in range(20)] for i in range(150)}}, {f'k{i}': 1 for i in range(150)}
    yield 'contains', {'items': {'contains': {'pattern': 'a{1,60}b'}}}, [['a' * 60] * 20] * 20
    yield 'formats', {'items': {'format': 'uri'}}, ['https://a.example/' + '%20' * 40] * 300
    yield 'anchors', {'$defs': {f'a{i}': {'$anchor': f'anchor{i}', '$ref': f'#anchor{(i + 1) % 900}'} for i in range(900)}}, 1
    yield 'ids', {'$defs': {f'a{i}': {'$id': f'https://x.example/{i}', '$schema': 'https://json-schema.org/draft/2020-12/schema'} for i in range(400)}}, 1
    yield 'dialects', {'$defs': {f'a{i}': {'$id': f'u{i}', '$ref': 'https://json-schema.org/draft/2020-12/schema'} for i in range(300)}}, {}
    yield 'dynamic', {'$dynamicAnchor': 'n', 'items': {'$dynamicRef': '#n'}, 'pattern': 'a*b'}, [[[['aaaa'] * 20] * 20] * 4] * 2
    yield 'multiple', {'items': {'multipleOf': 0.000001}}, [12345678901234567.5] * 3000
    yield 'lengths', {'items': {'minLength': 1, 'maxLength': 9}}, ['ab' * 1000] * 30


def flags(world):
    who, env, project = world.admin, world.env, world.project
    path = f'/api/v1/projects/{project}/configs'
    for name, schema, value in schemas():
        yield request('config_create', 'POST', path, config(world, schema, value), who, f'config-{name}')
        yield preview_of(world, f'preview-schema-{name}', {'configs': [{'key': 'previewed', 'type': 'json', 'schema': schema, 'defaultValue': value}]}, [{'userId': 'u'}])
        yield propose(world, f'create-{name}', 'flag.create_config', {'projectId': project, **config(world, schema, value)})
    match = lambda i: {'field': f'f{i % 40}', '$matches': f'(a|b|ab){{1,18}}{i}c'}
    contexts = [{f'f{j}': 'ab' * 14 for j in range(40)} for _ in range(25)]
    yield preview_of(world, 'preview-matches', {'flags': [flag('a', rules(55, match))]}, contexts)
    yield preview_of(world, 'preview-match-long', {'flags': [flag('a', rules(20, lambda i: {'field': 'f', '$matches': f'(a|b|ab){{1,30}}{i}c'}))]}, [{'f': 'ab' * 600} for _ in range(50)])
    chain = [{'key': f's{i}', 'rules': [{'if': {'$or': [{'$segment': f's{j}'} for j in range(i + 1, min(i + 9, 15))] + [{'field': 'x', '$contains': 'q'}]}}]} for i in range(15)]
    yield preview_of(world, 'preview-segments', {'segments': chain, 'flags': [flag(f'g{i}', rules(3, lambda j: {'$segment': f's{j}'})) for i in range(200)]}, [{'x': 'a' * 600} for _ in range(50)], True)
    yield preview_of(world, 'preview-many-segments', {'segments': [{'key': f's{i}', 'rules': [{'if': {'field': 'x', '$equals': i}}]} for i in range(900)]}, [{'x': 1}] * 50, True)
    yield preview_of(world, 'preview-in', {'flags': [flag('a', rules(1, lambda i: {'field': 'x', '$in': [f'v{j}' for j in range(6000)]}))]}, [{'x': 'v1'}] * 50)
    yield preview_of(world, 'preview-cidr', {'flags': [flag(f'c{k}', rules(1, lambda i: {'field': 'ip', '$cidr': [f'10.{j % 250}.0.0/16' for j in range(900)]})) for k in range(3)]}, [{'ip': '11.0.0.1'}] * 50)
    yield preview_of(world, 'preview-not', {'flags': [flag('n', rules(1, lambda i: nested(14, {'$or': [{'field': 'x', '$contains': 'q' * 9}] * 300})))]}, [{'x': 'a' * 900}] * 40, True)
    yield preview_of(world, 'preview-paths', {'flags': [flag('p', rules(190, lambda i: {'$and': [{'field': f'a.b{i}.c{j}', '$exists': False} for j in range(4)]}))]}, [{'a': {f'b{j}': 1 for j in range(120)}}] * 30)
    yield preview_of(world, 'preview-semver', {'flags': [flag('v', rules(180, lambda i: {'field': 'v', '$semverGt': f'1.{i}.0-a.b.c'}))]}, [{'v': '1.0.0-' + 'a.' * 100 + 'b'}] * 50)
    yield preview_of(world, 'preview-value', {'configs': [{'key': 'big', 'type': 'string', 'defaultValue': 'v' * 50000}]}, [{'userId': 'u'}] * 50)
    yield request('evaluate', 'POST', f'/api/v1/envs/{env}/evaluate', {'context': {f'f{j}': 'ab' * 700 for j in range(40)}, 'keys': [f'key-that-is-long-enough-{i}' for i in range(990)], 'verboseReason': True}, world.observer, 'evaluate')
    yield request('flag_state_put', 'PUT', f'/api/v1/envs/{env}/flags/{world.flag}/state', {'defaultValue': False, 'rules': rules(55, match)}, who, 'set-matches')
    yield request('flag_state_put', 'PUT', f'/api/v1/envs/{env}/flags/{world.flag}/state', {'defaultValue': False, 'rules': rules(190, lambda i: {'field': 'x', '$matches': 'a{1,900}b{1,%d}' % (i + 1)})}, who, 'set-too-large')
    kill = lambda name, rule, spots: propose(world, f'change-{name}', None, {'envId': env, 'kind': 'set_rules_flag', 'resourceKey': world.flag, 'diff': {'rules': rule}, 'spotCheck': spots})
    yield kill('matches', rules(55, match), contexts)
    yield kill('contexts', rules(100, lambda i: {'field': 'x', '$contains': 'q' * i}), [{'x': 'a' * 1000}] * 50)
    items = {f'i{i}': {'type': 'boolean', 'defaultValue': False} for i in range(900)}
    yield propose(world, 'import', 'flag.import', {'envId': env, 'ruleset': {'countersign': VERSION, 'flags': items}})
    ruled = {f'm{i}': {'type': 'boolean', 'defaultValue': False, 'rules': rules(2, match)} for i in range(55)}
    yield propose(world, 'import-matches', 'flag.import', {'envId': env, 'ruleset': {'countersign': VERSION, 'flags': ruled}, 'spotCheck': contexts})
    for name, schema, value in list(schemas())[:6]:
        made = {f'c{i}': {'type': 'json', 'schema': schema, 'defaultValue': value} for i in range(3)}
        yield propose(world, f'import-{name}', 'flag.import', {'envId': env, 'ruleset': {'countersign': VERSION, 'configs': made}})
    yield request('ofrep', 'POST', f'/api/v1/envs/{env}/ofrep/v1/evaluate/flags', {'context': {f'f{j}': 'ab' * 700 for j in range(40)}}, world.observer, 'ofrep-bulk')


def nested(depth, inner):
    for _ in range(depth):
        inner = {'$not': inner}
    return inner


def flag(key, rule):
    return {'key': key, 'type': 'boolean', 'defaultValue': False, 'rules': rule}


def preview_of(world, name, ruleset, contexts, verbose=False):
    return request('evaluate_preview', 'POST', f'/api/v1/envs/{world.env}/evaluate/preview', {'ruleset': ruleset, 'spotCheck': contexts, 'verboseReason': verbose}, world.observer, name)


def propose(world, name, tool, given):
    body = {'tool': tool, 'input': given} if tool else given
    return request('proposal_create', 'POST', '/api/v1/proposals', body, world.agent, f'propose-{name}')


def request(op, method, path, body, who, name):
    return {'op': op, 'method': method, 'path': path, 'body': body, 'who': who, 'name': name}


def others(world):
    long = {'title': 'n', 'text': 'word ' * 3900}
    yield propose(world, 'note', 'note.create', long)
    yield propose(world, 'note-odd', 'note.create', {'title': 'аdmin', 'text': 'pаypal.com ' * 1600})
    yield propose(world, 'note-marks', 'note.create', {'title': 'x', 'text': 'a' + '\u0301' * 9900})
    for name, schema, value in schemas():  # a tool that takes what it says; then that
        tool = world.fresh('tool')
        made = {'title': 'T', 'description': 'D', 'effect': 'mutate', 'failure': 'F', 'inputSchema': {'type': 'object', 'properties': {'v': schema}}}
        yield request('connection_tool_put', 'PUT', f'/api/v1/connections/{world.connection}/tools/{tool}', made, world.admin, f'tool-{name}')
        yield propose(world, f'tool-{name}', f'webhook.{tool}', {'v': value})
        yield mcp(world, f'webhook_{tool}', {'v': value}, f'mcp-{name}')
    yield propose(world, 'numbers', 'note.create', {'title': 'x', 'text': 'y', 'more': [0.1 + i * 1e-9 for i in range(3000)]})
    wide = {f'{"k" * 30}{i}': 1 for i in range(1500)}
    yield propose(world, 'members', 'note.create', {'title': 'x', 'text': 'y', **wide})
    deep = 1
    for i in range(60):
        deep = {'k' * 900: deep, 'l': [1] * 5}
    yield propose(world, 'deep', 'note.create', {'title': 'x', 'text': 'y', 'd': deep})
    yield mcp(world, 'note_create', long, 'mcp-note')
    yield mcp(world, 'evaluate_for_context', {'envId': world.env, 'context': {f'f{j}': 'ab' * 500 for j in range(40)}, 'verboseReason': True}, 'mcp-evaluate')
    yield request('policy_explain', 'POST', '/api/v1/policy/explain', {'tool': 'note.create', 'input': long}, world.admin, 'explain')
    lists = {'name': 'n', 'rules': [f'note.{"x" * 20}.read{i}' for i in range(199)]}
    yield request('role_create', 'POST', '/api/v1/roles', {**lists, 'name': world.fresh('role'), 'level': 'observer'}, world.admin, 'role')
    yield request('token_mint', 'POST', '/api/v1/tokens', {'name': 't', 'principalId': world.agent_id, 'keys': [f'{"a*" * 30}{i}*' for i in range(199)], 'environments': [world.env]}, world.admin, 'token')


def mcp(_world, tool, arguments, name):
    meta = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': tool, 'arguments': arguments, '_meta': meta}}
    return {**request('mcp tools/call', 'POST', '/mcp', body, _world.agent, name), 'tool': tool}


def weigh(value, found):
    """About how many bytes value has; found gets (bytes, container, key) of all below that can be halved."""
    if isinstance(value, str):
        return len(value) + 3
    if not isinstance(value, (dict, list)):
        return 6
    total = 2
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        n = weigh(part, found) + (len(key) + 4 if isinstance(value, dict) else 0)
        if isinstance(part, (str, list, dict)) and len(part) > 1:
            found.append((n, value, key))
        total += n
    return total


def fit(request_):
    """Halves what is long, as far down as it can be, until it is small enough."""
    while size(request_) > MOST:
        found = []
        whole = weigh(request_['body'], found)
        if not found:
            break
        most = max(n for n, _, _ in found)
        _, at, key = min((f for f in found if f[0] >= min(most, whole // 3)), key=lambda f: f[0])
        value = at[key]
        half = len(value) // 2
        at[key] = value[:half] if not isinstance(value, dict) else dict(list(value.items())[:half])
    return request_


def seeds(world):
    return [fit(r) for r in (*flags(world), *others(world))]


# --- every operation -------------------------------------------------------------------------------

# what waits, streams, ends the session that is used, or hashes passwords, which costs what it costs
ASIDE = {'session_start', 'session_step_up', 'session_end', 'session_password', 'event_stream', 'proposal_wait', 'audit_export', 'member_create', 'member_change', 'setup_complete', 'connection_test'}


def sample(schema, name, world):
    if 'enum' in schema:
        return schema['enum'][0]
    kind = schema.get('type', 'object')
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == 'integer' or kind == 'number':
        return schema.get('minimum', 1)
    if kind == 'boolean':
        return False
    if kind == 'array':
        return [sample(schema.get('items', {'type': 'string'}), name, world)] * 2
    if kind == 'string':
        return world.known.get(name, 'word')
    properties = schema.get('properties', {})
    return {n: sample(s, n, world) for n, s in properties.items()} if properties else {'a': ['b'] * 3}


def of_openapi(openapi, world):
    for path, methods in openapi['paths'].items():
        for method, op in methods.items():
            if op['operationId'] in ASIDE or 'event' in path or path.endswith('/wait'):
                continue
            content = op.get('requestBody', {}).get('content', {}).get('application/json')
            body = sample(content['schema'], '', world) if content else None
            target = path
            for p in op.get('parameters', []):
                if p['in'] == 'path':
                    target = target.replace('{' + p['name'] + '}', str(world.of_path(path, p['name'])))
            yield request(op['operationId'], method.upper(), target, body, world.admin, op['operationId'])


# --- changes ---------------------------------------------------------------------------------------


def walk(value):
    """(container, key, value) of everything below."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        yield value, key, part
        yield from walk(part)


def change(rng, parent, pool):
    child = {**parent, 'body': copy.deepcopy(parent['body'])}
    if child['body'] is None:
        return child
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(walk(child['body']))
        if not places:
            return child
        at, key, value = rng.choice(places)
        at[key] = other(rng, value, pool)
    return fit(child)


def other(rng, value, pool):
    kind = rng.randrange(8)
    if isinstance(value, str):
        return rng.choice([value * 2, value * 8, value[:len(value) // 2], rng.choice(TEXTS), rng.choice(PATTERNS), value + rng.choice(PATTERNS), f'({value}){{1,{rng.randint(2, 40)}}}', rng.choice(WORDS)])
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return rng.choice([value * 2, value + 1, rng.choice(NUMBERS)])
    if isinstance(value, list) and value:
        if kind < 4:
            return value * rng.choice((2, 2, 4, 16))
        return value[:len(value) // 2] if kind == 4 else value + [copy.deepcopy(rng.choice(value))] * rng.randint(1, 50) if kind < 7 else [value]
    if isinstance(value, dict) and value:
        name, inner = rng.choice(list(value.items()))
        if kind < 4:  # many alike
            return {**value, **{f'{name}{i}': copy.deepcopy(inner) for i in range(rng.choice((2, 10, 100)))}}
        if kind == 4:
            return {k: v for k, v in value.items() if k != name}
        if kind == 5:
            return {**value, name: value}
        return {**value, **{('k' * rng.choice((10, 500)) + str(i)): inner for i in range(rng.choice((2, 20)))}}
    donor = rng.choice(pool)
    parts = [v for _, _, v in walk(donor['body'])] if donor['body'] is not None else []
    return copy.deepcopy(rng.choice(parts)) if parts else rng.choice([[], {}, 'a', 1])

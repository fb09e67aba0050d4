# SPDX-License-Identifier: Apache-2.0
"""Requests for run-requests: what /openapi.json describes, filled from a real world, and then spoiled.

    maker = Maker(random.Random(7), openapi, orgs)
    request = maker.make()          # or maker.pair(): the same with a foreign id and with one that nobody has

An org has `callers`, `still` (ids that only those may name who can do nothing to them) and `loose` (ids for
everybody), both by kind of thing.
"""
import dataclasses
import json
import re
import urllib.parse

# How often an operation is asked, beside 1: less where an answer is long or a password is hashed.
WEIGHTS = {
    'proposal_create': 8, 'tool_call': 8, 'proposal_approve': 5, 'proposal_apply': 3, 'proposal_apply_token': 3,
    'proposal_deny': 2, 'proposal_get': 2, 'policy_explain': 2, 'token_mint': 2, 'json_canonicalize': 2,
    'member_create': 0.3, 'member_change': 0.3, 'session_start': 0.15, 'link_use': 0.15, 'me_password': 0.15, 'openapi': 0.05,
    'audit_export': 0.05, 'audit_list': 0.4, 'event_stream': 0.05, 'proposal_wait': 0.05, 'server_metrics': 0.2,
}
ASIDE = {'event_stream', 'proposal_wait'}  # they do not answer at once: on a connection of their own
PASSWORD = 'Geheim7731'  # stands in every password, so that none goes unseen
ENDS = ('members', 'agents', 'roles', 'tokens', 'proposals', 'teams', 'audit')
LEVELS = ('observer', 'proposer', 'operator', 'maintainer', 'admin')
VERBS = ('read', 'propose', 'toggle', 'write', 'manage', 'delete')

STRINGS = [
    '', ' ', '\n', '\t x', 'a\rb', '\x01\x02', '\x7f', '\u202egpj.exe', '\u200b\u200d', 'e\u0301' * 40, '\ufeffx', '😀' * 60, '\uffff',
    '\U0010ffff', 'Ａ', 'İi', "'; DROP TABLE note; --", '" OR 1=1', '%s%n%x', '../../etc/passwd', '{{7*7}}', '<script>alert(1)</script>',
    '-1', '1e9', 'null', 'true', 'NaN', '0x10', '*', '**.*', 'note.*', '.', '..', '/', '\\', 'a' * 65, 'a' * 201, 'a' * 1025, 'ß' * 200,
    'note.create', 'propose:x.y', 'propose:', 'propose:.', 'cs_pat_', '127.0.0.1/33', '::/129', '0' * 64, 'A' * 64, 'all', '"all"',
]
RAW_STRINGS = ['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x"', '"\x01"', '"\n"', '"open', '"\\ud83d\\ude00"', '"\\/"']
NUMBERS = ['-0', '1e400', '-1e400', '1e-400', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '18446744073709551616',
           '12345678901234567890', '1.5', '0.1e1', '1E2', '01', '+1', '.5', '1.', '1e', '-', '1e99999999999999999999', '0' * 400, '9' * 400,
           '0.' + '1' * 300, 'NaN', 'Infinity', '0x1', '1_000']
ODD_IDS = ['', '.', '..', '0', '-', 'x', 'apply', 'null', 'a' * 64, 'a' * 65, 'a' * 200, 'a' * 201, 'ü', '\u202e', "'", '"', ';', '%', '%00', '\n', ' ',
           'a/b', '00000000-0000-0000-0000-000000000000', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', '*', '?', '#', '😀']
HEADERS = [
    ('X-Request-Id', 'a' * 64), ('X-Request-Id', 'a' * 65), ('X-Request-Id', 'sp ace "q" = x'), ('X-Request-Id', ''), ('Accept', 'text/html'),
    ('Accept', '*/*;q=0'), ('Accept-Encoding', 'gzip, br'), ('Idempotency-Key', 'k'), ('Idempotency-Key', ''), ('Idempotency-Key', 'x' * 300),
    ('Idempotency-Key', '\xff\xfe'), ('If-Match', '"1"'), ('If-None-Match', '*'), ('Origin', 'null'), ('Origin', 'https://evil.example'),
    ('X-Forwarded-For', '10.0.0.1'), ('X-HTTP-Method-Override', 'DELETE'), ('Range', 'bytes=0-1'), ('Content-Encoding', 'gzip'),
    ('Content-Type', 'text/plain'), ('Content-Type', ''), ('Content-Type', 'application/json; charset=utf-16'), ('Connection', 'keep-alive'),
    ('Connection', 'close'), ('Connection', 'Upgrade'), ('Upgrade', 'websocket'), ('Expect', '100-continue'), ('Expect', 'nothing'),
    ('Cookie', '__Host-sid=' + 'A' * 43), ('Cookie', '=;;=;a'), ('X-CSRF-Token', 'x'), ('TE', 'trailers'), ('Via', '1.0 x'), ('X-Long', 'y' * 9000),
    ('X-Too-Long', 'y' * 20000), ('Authorization', 'Bearer'), ('Authorization', ''), ('Host', 'other'), ('Transfer-Encoding', 'identity'),
]
CLOSING = {'Connection', 'Expect', 'Upgrade', 'X-Too-Long', 'Host', 'Transfer-Encoding', 'Content-Type'}


class Raw(str):
    """Text that stands in a JSON document as it is."""


@dataclasses.dataclass
class Caller:
    org: object
    name: str
    headers: list
    dead: bool = False  # nothing but what is public may be answered with yes
    low: bool = False   # may read at most


@dataclasses.dataclass
class Request:
    operation: dict
    method: str
    template: str
    caller: Caller
    segments: dict
    query: list
    body: object = None          # a document, or bytes
    headers: list = dataclasses.field(default_factory=list)
    odd: bool = False            # which operation this is, if any, is not known any more
    last: bool = False           # the server may hang up behind its answer
    aside: bool = False
    target: str = None
    chunked: bool = False
    text: bytes = b''
    notes: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        return self.operation['operationId']


def dump(value):
    """JSON, with Raw as it stands and a list of pairs under '__pairs' as an object with members twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = value['__pairs'] if '__pairs' in value else value.items()
        return '{' + ','.join(f'{json.dumps(k)}:{dump(v)}' for k, v in pairs) + '}'
    if isinstance(value, list):
        return '[' + ','.join(dump(v) for v in value) + ']'
    return json.dumps(value)


def compose(request, port):
    """The request's bytes."""
    target = request.target
    if target is None:
        target = re.sub(r'\{(\w+)\}', lambda m: urllib.parse.quote(request.segments[m[1]], safe=''), request.template)
        if request.query:
            target += '?' + '&'.join(f'{urllib.parse.quote(k, safe="")}={urllib.parse.quote(str(v), safe="")}' for k, v in request.query)
    body = request.body
    if body is not None and not isinstance(body, bytes):
        body = dump(body).encode('utf-8', 'surrogatepass')
    head = [f'{request.method} {target} HTTP/1.1', f'Host: 127.0.0.1:{port}']
    given = {name for name, _ in request.headers}
    head += [f'{n}: {v}' for n, v in request.caller.headers if n not in given]
    head += [f'{n}: {v}' for n, v in request.headers]
    if body is not None and 'Content-Type' not in given:
        head.append('Content-Type: application/json')
    if request.chunked and body is not None:
        head.append('Transfer-Encoding: chunked')
        half = len(body) // 2
        body = b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in (body[:half], body[half:]) if p) + b'0\r\n\r\n'
    elif body is not None:
        head.append(f'Content-Length: {len(body)}')
    request.text = '\r\n'.join(head).encode('utf-8', 'surrogatepass') + b'\r\n\r\n' + (body or b'')
    return request


class Maker:
    def __init__(self, rng, openapi, orgs, silent):
        self.rng, self.orgs, self.silent, self.port = rng, orgs, silent, 0
        self.count = 0
        self.operations = [(template, method.upper(), operation) for template, item in openapi['paths'].items()
                           for method, operation in item.items()]
        self.weights = [WEIGHTS.get(o['operationId'], 0.5 if o['operationId'].endswith('_list') else 1) for _, _, o in self.operations]
        self.rules = sorted({o['x-rule'] for _, _, o in self.operations if '.' in o['x-rule']} | {'note.note.read', 'note.note.write'})

    # --- what is right ---------------------------------------------------------

    def word(self):
        self.count += 1
        return f'w{self.count}'

    def thing(self, caller, kind, reading=False):
        """The id of something: what stands still is only for those who cannot move it, and for readers."""
        pools = [caller.org.loose[kind]]
        if caller.low or caller.dead or reading:
            pools.append(caller.org.still[kind])
        pool = self.rng.choice([p for p in pools if p] or [['none']])
        return self.rng.choice(pool)

    def proposal(self, caller, reading=False):
        return self.thing(caller, 'proposals', reading)

    def tool(self, caller):
        """A tool and what it takes."""
        r, note = self.rng, self.thing(caller, 'notes')
        agent, token = self.thing(caller, 'agents'), self.thing(caller, 'tokens')
        inputs = {
            'note.create': {'title': self.word(), 'text': r.choice(['text', 'ü 😀', 'x' * 200])}, 'note.update': {'id': note, 'text': self.word()},
            'note.get': {'id': note}, 'note.list': {'limit': r.randint(1, 5)}, 'note.delete': {'id': note}, 'agent.list': {},
            'agent.create': {'name': self.word()}, 'agent.disable': {'id': agent}, 'permission.list': {'agentId': agent},
            'permission.set': {'agentId': agent, 'tool': 'note.get', 'status': r.choice(['allowed', 'needs_approval', 'blocked'])},
            'token.list': {}, 'token.mint': {'name': self.word(), 'principalId': agent, 'level': 'observer'}, 'token.revoke': {'id': token},
        }
        name = 'note.create' if r.random() < 0.4 else r.choice(list(inputs))
        return name, inputs[name]

    def proposed(self, caller):
        """The body of a proposal, in either form."""
        r, (name, given) = self.rng, self.tool(caller)
        if r.random() < 0.25:
            return {'proposal_id': self.word(), 'proposed_by': 'x', 'timestamp': '2026-01-01T00:00:00Z', 'domain': r.choice(['operations', 'sales']),
                    'tool': {'name': name, 'version': '1.0'}, 'intent': {'summary': 'for it', 'reasoning': 'so'}, 'parameters': given,
                    'risk_level': r.choice(['low', 'medium', 'high']), 'approval_required': r.random() < 0.8, 'compliance_context': {'gdpr': False, 'hipaa': False},
                    'idempotency_key': f'doc-{self.word()}', 'rollback_supported': True}
        body = {'tool': name, 'input': given}
        more = {'intent': {'summary': 'why'}, 'idempotencyKey': f'key-{r.randint(0, 5000)}', 'expiresInSeconds': r.choice([1, 60, 3600]), 'riskLevel': r.choice(['low', 'high']),
                'compliance': {'gdpr': True}, 'provenance': {'model': 'm', 'provider': 'p', 'promptHash': '0' * 64}}
        return body | {k: v for k, v in more.items() if r.random() < 0.2}

    def untyped(self, name, caller):
        r = self.rng
        ids = lambda kind: [self.thing(caller, kind) for _ in range(r.randint(0, 2))]
        return {
            'roles': lambda: r.sample(LEVELS, r.randint(0, 2)), 'rules': lambda: r.sample(self.rules, r.randint(0, 3)),
            'environments': lambda: r.choice(['all', caller.org.environments]), 'keys': lambda: r.choice(['all', ['payments.*', 'x']]),
            'actions': lambda: r.sample(VERBS[:4], 2), 'productionActions': lambda: ['read'], 'cidrs': lambda: r.choice([[], ['127.0.0.0/8'], ['::1/128']]),
            'tools': lambda: [{'toolName': 'note.get', 'permissionStatus': r.choice(['allowed', 'needs_approval', 'blocked'])}],
            'policy': lambda: r.choice([{}, {'votesLow': 1, 'fourEyes': False}, {'allowListed': ['note.create']}, {'gdpr': True}]),
            'members': lambda: ids('members'), 'disabled': lambda: r.random() < 0.5, 'level': lambda: r.choice(LEVELS[:3] + ('',)),
            'grants': lambda: [{'resourceType': 'note', 'resourceId': self.thing(caller, 'notes'), 'verb': r.choice(['read', 'manage'])}],
            'document': lambda: r.choice([1, [], {'b': 1, 'a': [True, None]}, 'é', {'deep': [[[]]]}]), 'input': lambda: self.tool(caller)[1],
        }.get(name, lambda: 1)()

    def named(self, name, template, caller, reading):
        """A value for a member that means something in our world, or None."""
        r = self.rng
        kinds = {'principalId': 'agents', 'agentId': 'agents', 'proposer': 'agents', 'subject': 'members', 'actorId': 'members', 'tokenId': 'tokens'}
        if name in kinds:
            return self.thing(caller, kinds[name])
        if name in ('id', 'proposalId'):
            kind = next((k for k in ENDS if f'/{k}/' in template or template.endswith(f'/{k}')), 'notes')
            return self.thing(caller, kind, reading) if kind != 'audit' or name == 'id' else self.proposal(caller)
        plain = {'slug': caller.org.slug, 'type': 'note', 'toolName': 'note.get', 'tool': 'note.create', 'projectId': caller.org.project, 'environmentId': caller.org.environments[0],
                 'email': f'{self.word()}@example.org', 'password': f'{PASSWORD} {self.word()}', 'current': f'{PASSWORD} wrong', 'name': self.word(), 'viewHash': '0' * 64,
                 'org': caller.org.slug, 'format': 'jsonl', 'after': '', 'cursor': '', 'timeout': 1}
        if name == 'token':
            return r.choice(caller.org.claims or ['propose:x.y']) if 'proposals' in template else r.choice(['x' * 40, 'cs_setup_' + 'A' * 43])
        return plain.get(name)

    def value(self, name, schema, template, caller, reading=False):
        r, found = self.rng, self.named(name, template, caller, reading)
        if 'type' not in schema:
            return self.untyped(name, caller)
        if 'enum' in schema:
            return r.choice(schema['enum'])
        if schema['type'] == 'integer':
            low = schema.get('minimum', 0)
            return found if found is not None else r.randint(low, min(schema.get('maximum', 1000), low + 1000))
        if schema['type'] == 'boolean':
            return r.random() < 0.5
        return found if found is not None else self.word()

    def right(self, operation=None, caller=None):
        """A request as an honest client would send it."""
        r = self.rng
        template, method, operation = operation or r.choices(self.operations, self.weights)[0]
        caller = caller or self.caller()
        if operation['operationId'] == 'session_end' and caller.headers and caller.headers[0][0] == 'Cookie':
            caller = caller.org.dead[0]  # its session is still needed
        reading = method == 'GET'
        segments, query, body = {}, [], None
        for p in operation.get('parameters', []):
            if p['in'] == 'path':
                segments[p['name']] = str(self.value(p['name'], p['schema'], template, caller, reading))
            elif p.get('required') or p['name'] == 'timeout' or r.random() < (0.05 if 'audit' in template else 0.3):
                value = self.value(p['name'], p['schema'], template, caller, reading)
                query += [(p['name'], value)] if value != '' else []
        if 'requestBody' in operation:
            schema = operation['requestBody']['content']['application/json']['schema']
            needed = schema.get('required', ())
            body = {n: self.value(n, s, template, caller) for n, s in schema.get('properties', {}).items() if n in needed or r.random() < 0.35}
            self.complete(operation['operationId'], caller, body, segments)
        return Request(operation, method, template, caller, segments, query, body, aside=operation['operationId'] in ASIDE)

    def complete(self, name, caller, body, segments):
        """Members that have to fit each other."""
        if name == 'proposal_create':
            body.update(self.proposed(caller))
        elif name in ('tool_call', 'policy_explain'):
            body['tool'], body['input'] = self.tool(caller)
        elif name in ('proposal_approve', 'proposal_deny'):
            body['viewHash'] = caller.org.views.get(segments['id'], '0' * 64)
        elif name in ('member_create', 'member_change') and self.rng.random() < 0.9:
            body.pop('password', None)  # never taken
        elif name == 'token_mint' and self.rng.random() < 0.5:
            for member in ('projectId', 'environments', 'cidrs', 'forVoting', 'override'):
                body.pop(member, None)

    def caller(self):
        return self.rng.choice(self.rng.choice(self.orgs).callers)

    # --- and what is not ---------------------------------------------------------

    def make(self):
        request = self.right()
        for _ in range(self.rng.choices((0, 1, 2), (35, 50, 15))[0]):
            spoil = self.rng.choice(SPOILS)
            spoil(self, request)
            request.notes.append(spoil.__name__)
        if request.aside and ('timeout', 1) not in request.query and request.target is None:
            request.query.append(('timeout', 1))
        return compose(request, self.port)

    def member(self, request):
        """A place in the body: the object and the name; None where there is none."""
        at = request.body
        if not isinstance(at, dict) or not at or '__pairs' in at:
            return None
        name = self.rng.choice(list(at))
        while isinstance(at[name], dict) and at[name] and '__pairs' not in at[name] and self.rng.random() < 0.6:
            at = at[name]
            name = self.rng.choice(list(at))
        return at, name

    def spoiled_bytes(self):
        """A request of organization 1's neighbour with bytes changed anywhere: for a connection of its own."""
        request = compose(self.right(caller=self.rng.choice(self.orgs[1].callers)), self.port)
        r = self.rng
        text = bytearray(request.text.replace(PASSWORD.encode(), b'Spoiled'))  # it may end up in a path, which is logged
        for _ in range(r.choice((1, 1, 1, 2, 8))):
            at = r.randrange(len(text))
            kind = r.randrange(5)
            if kind == 0:
                text[at] ^= 1 << r.randrange(8)
            elif kind == 1:
                text[at] = r.randrange(256)
            elif kind == 2:
                del text[at:at + r.randint(1, 9)]
            elif kind == 3:
                text[at:at] = bytes(r.randrange(256) for _ in range(r.randint(1, 4)))
            else:
                text[at:at] = text[r.randrange(len(text)):][:40]
            if not text:
                text = bytearray(b'\r\n')
        request.text = bytes(text[:r.randrange(len(text)) + 1] if r.random() < 0.15 else text)
        request.odd = True
        return request

    PAIRS = {  # member -> kind of thing, where it is an id that must be of one's own tenant
        'principalId': 'agents', 'agentId': 'agents', 'id': None, 'slug': 'slug', 'proposer': 'agents', 'projectId': 'project',
        'environmentId': 'environment', 'proposalId': 'proposals', 'actorId': 'members', 'tokenId': 'tokens',
    }

    def pair(self):
        """The same request with somebody else's id, and with one of the same shape that nobody has. None: not this time."""
        r = self.rng
        org = r.choice(self.orgs)
        other = r.choice([o for o in (*self.orgs, self.silent) if o is not org])
        request = self.right(caller=r.choice([c for c in org.callers if not c.dead and c.name != 'slow']))
        if request.aside or request.name in ('audit_export', 'audit_erase', 'team_only'):
            return None
        put = []
        for name in request.segments:
            put.append((request.segments, name))
        put += [(request.body, n) for n in request.body or () if n in self.PAIRS]
        put += [(request.body['input'], n) for n in ('id', 'agentId', 'principalId') if isinstance(request.body, dict) and n in (request.body.get('input') or ())]
        if request.name == 'proposal_apply_token':
            put = [(request.body, 'token')]
        if not put:
            return None
        where, name = r.choice(put)
        theirs = self.foreign(request, name, other)
        if not theirs:
            return None
        nobody = ''.join(r.choice('0123456789abcdef') if c in '0123456789abcdef' and i > 14 else c for i, c in enumerate(theirs)) if len(theirs) > 20 else \
            ''.join(r.choice('abcdefghijklmnop') for _ in theirs)
        where[name] = theirs
        self.rekey(request)
        first = compose(dataclasses.replace(request, notes=['foreign ' + name]), self.port)
        where[name] = nobody
        self.rekey(request)
        second = compose(dataclasses.replace(request, notes=['absent ' + name]), self.port)
        return first, second, theirs, nobody

    def rekey(self, request):
        """It is not the request that another one was."""
        for key in ('idempotencyKey', 'idempotency_key'):
            if isinstance(request.body, dict) and key in request.body:
                request.body[key] = f'pair-{self.word()}'

    def foreign(self, request, name, other):
        if name == 'token':
            return self.rng.choice(other.claims) if other.claims else None
        if name == 'slug':
            return other.slug
        kind = self.PAIRS.get(name)
        if name == 'id' and isinstance(request.body, dict) and 'tool' in request.body:
            kind = {'note': 'notes', 'agent': 'agents', 'token': 'tokens'}.get(str(request.body['tool']).split('.', maxsplit=1)[0])
        elif name == 'id':
            kind = next((k for k in ENDS if f'/{k}/' in request.template), None)
        if kind == 'project':
            return other.project
        if kind == 'environment':
            return other.environments[0]
        return self.rng.choice(other.still[kind]) if kind and other.still[kind] else None


# --- one thing that is wrong: each changes the request ---------------------------------------------


def missing(m, q):
    place = m.member(q)
    if place:
        del place[0][place[1]]
    elif q.query:
        del q.query[m.rng.randrange(len(q.query))]


def unknown(m, q):
    if isinstance(q.body, dict) and m.rng.random() < 0.7:
        q.body[m.rng.choice(['extra', 'Name', '', 'constructor', '__proto__', 'ü', 'x' * 300, 'token'])] = m.rng.choice([1, None, 'x', {}])
    else:
        q.query.append((m.rng.choice(['extra', '', 'limit', 'ü', 'x' * 300]), m.rng.choice(['1', '', 'x' * 3000])))


def wrong_type(m, q):
    place = m.member(q)
    if place:
        place[0][place[1]] = m.rng.choice([None, True, False, 0, -1, 1.5, '', 'x', [], {}, [1], ['x'], [None], {'a': 1}, [[]], [{}], ['x'] * 300])
    elif q.body is not None:
        q.body = m.rng.choice([b'[]', b'1', b'null', b'""', b'', b' ', b'{}', b'[{}]', b'\xef\xbb\xbf{}'])


def odd_text(m, q):
    place = m.member(q)
    text = m.rng.choice(STRINGS)
    if place:
        place[0][place[1]] = Raw(m.rng.choice(RAW_STRINGS)) if m.rng.random() < 0.3 else text
    elif q.query:
        at = m.rng.randrange(len(q.query))
        q.query[at] = (q.query[at][0], text)


def long_text(m, q):
    place = m.member(q)
    size = m.rng.choices((300, 2500, 9000, 70000, 1048000), (40, 30, 20, 9, 1))[0]
    if place:
        place[0][place[1]] = m.rng.choice('aé\t') * size
        q.last = q.last or size > 9000
    elif q.query:
        q.query[0] = (q.query[0][0], 'a' * min(size, 9000))
        q.last = True


def too_large(m, q):
    if m.rng.random() < 0.02 and q.body is not None:
        q.body, q.last = b'{"x":"' + b'a' * 1048576 + b'"}', True


def deep(m, q):
    n = m.rng.choice((10, 60, 63, 64, 65, 200, 5000))
    nested = Raw('[' * n + ']' * n if m.rng.random() < 0.5 else '{"a":' * n + '1' + '}' * n)
    place = m.member(q)
    if place:
        place[0][place[1]] = nested
    elif q.body is not None:
        q.body = nested.encode()


def huge_number(m, q):
    place = m.member(q)
    if place:
        place[0][place[1]] = Raw(m.rng.choice(NUMBERS))
    elif q.query:
        at = m.rng.randrange(len(q.query))
        q.query[at] = (q.query[at][0], m.rng.choice(NUMBERS))


def twice(m, q):
    if isinstance(q.body, dict) and q.body and '__pairs' not in q.body:
        pairs = list(q.body.items())
        q.body = {'__pairs': pairs + [m.rng.choice(pairs)]}
    elif q.query:
        q.query.append(m.rng.choice(q.query))


def wrong_id(m, q):
    r = m.rng
    ids = [p for p in q.segments if p != 'slug'] or list(q.segments)
    kind = r.choice([k for k in ENDS if k != 'audit'] + ['notes'])
    org = r.choice([*m.orgs, m.silent])
    reading = q.method == 'GET' or q.caller.low or q.caller.dead or org is not q.caller.org
    pool = list(org.loose[kind]) + (list(org.still[kind]) if reading else [])
    text = r.choice(ODD_IDS) if r.random() < 0.4 or not pool else r.choice(pool)
    place = m.member(q)
    if ids and (r.random() < 0.7 or not place):
        q.segments[r.choice(ids)] = text
        q.odd = q.odd or text in ('', '.', '..', 'apply', 'export', 'checkpoint') or bool(set(text) & set('\n%/')) or text == 'consistency'
    elif place:
        place[0][place[1]] = text


def other_token(m, q):
    q.caller = m.rng.choice(m.rng.choice(m.orgs).dead)


def two_tokens(m, q):
    q.headers.append(('X-Authorization', 'Bearer x'))
    q.headers += [h for h in m.rng.choice(m.orgs[0].dead).headers][:1] * m.rng.choice((1, 2))
    q.last = True


def other_method(m, q):
    if q.template.endswith('/session'):
        return
    q.method = m.rng.choice(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'get', 'BREW', 'CONNECT'])
    for name in q.segments:  # what was to be read only may now be changed: not what stands still
        q.segments[name] = str(m.named(name, q.template, q.caller, False))
    q.odd = q.last = True
    q.aside = False if q.name != 'event_stream' else q.aside


def cut(m, q):
    if q.body is not None:
        text = q.body if isinstance(q.body, bytes) else dump(q.body).encode('utf-8', 'surrogatepass')
        q.body = text[:m.rng.randrange(len(text) + 1)]


def flip(m, q):
    """In the body only: still one request."""
    if q.body is not None:
        text = bytearray(q.body if isinstance(q.body, bytes) else dump(q.body).encode('utf-8', 'surrogatepass'))
        for _ in range(m.rng.choice((1, 1, 3))):
            if text:
                text[m.rng.randrange(len(text))] = m.rng.randrange(256)
        q.body = bytes(text)


def broken_path(m, q):
    target = re.sub(r'\{(\w+)\}', lambda t: urllib.parse.quote(q.segments[t[1]], safe=''), q.template)
    at = m.rng.randrange(1, len(target) + 1)
    q.target = target[:at] + m.rng.choice(['%', '%2', '%zz', '%00', '%ff', '%2f', '%2e%2e', '//', '/../', '/./', '?', '?&&&', '?=', '?%zz=1', '#', ';x', '\\', '%c0%af', '%u0041',
                                           'é', '?a=%', '?' + 'a=1&' * 300, '/' * 40, 'x' * 9000]) + target[at:]
    q.odd = q.last = True


def odd_header(m, q):
    name, value = m.rng.choice(HEADERS)
    q.headers.append((name, value))
    q.last = q.last or name in CLOSING
    if name in ('Upgrade', 'Transfer-Encoding', 'Host', 'X-Too-Long') or (name, value) == ('Connection', 'Upgrade') or name == 'Expect':
        q.odd = True


def many_headers(m, q):
    q.headers += [(f'X-H{i}', 'v') for i in range(m.rng.choice((50, 90, 120)))]
    q.odd = q.last = True


def chunks(_m, q):
    q.chunked = True


SPOILS = (missing, missing, unknown, wrong_type, wrong_type, odd_text, odd_text, long_text, too_large, deep, huge_number, twice, wrong_id, wrong_id, wrong_id, other_token, other_token,
          two_tokens, other_method, cut, flip, broken_path, odd_header, odd_header, many_headers, chunks)

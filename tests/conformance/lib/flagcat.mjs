// SPDX-License-Identifier: Apache-2.0
// Asks tests/tools/flagcat: files of flags converted, and what they then answer.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const build = path.resolve(root, process.env.COUNTERSIGN_BUILD ?? 'build-test/gcc')

export function convert(questions) {
	const input = Buffer.concat(questions.flatMap(q => {
		const text = Buffer.from(JSON.stringify(q))
		return [Buffer.from(`${text.length}\n`), text]
	}))
	const run = spawnSync(path.join(build, 'tests/tools/flagcat'), { input, maxBuffer: 2 ** 30 })
	if (run.error) throw run.error
	assert.equal(run.status, 0, `flagcat: status ${run.status} signal ${run.signal} ${run.stderr}`)
	const lines = run.stdout.toString('utf8').split('\n').slice(0, -1)
	assert.equal(lines.length, questions.length)
	return lines.map(line => JSON.parse(line))
}

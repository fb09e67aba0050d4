// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process';

import { until } from './server.mjs';

/** A session of our own in the server's database. */
export class Session {
	constructor(server) {
		this.out = '';
		this.count = 0;
		this.child = spawn('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', server.database.url], { stdio: ['pipe', 'pipe', 'inherit'] });
		this.child.stdout.setEncoding('utf8').on('data', (text) => (this.out += text));
	}

	/** Runs it and gives what it printed. */
	async run(sql) {
		const from = this.out.length, mark = `done ${++this.count}`;
		this.child.stdin.write(`${sql}\n\\echo ${mark}\n`);
		await until(() => this.out.includes(`${mark}\n`, from), sql);
		return this.out.slice(from).replace(`${mark}\n`, '').trim();
	}

	end() {
		this.child.stdin.end();
	}

	/** How many statements wait for a lock, of those that match. */
	async waiting(pattern = '.') {
		return Number(await this.run(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ '${pattern}';`));
	}
}

// SPDX-License-Identifier: Apache-2.0
// What this browser remembers. It may refuse to: then it is asked again each time.
export function kept(name: string): string | null {
	try {
		return localStorage.getItem(name);
	} catch {
		return null;
	}
}

/** value null: forget it. */
export function keep(name: string, value: string | null): void {
	try {
		if (value === null) localStorage.removeItem(name);
		else localStorage.setItem(name, value);
	} catch {
		// it holds until the page is loaded again
	}
}

// SPDX-License-Identifier: Apache-2.0
// A value that several components look at. Nothing more is needed so far.
import { useEffect, useState } from 'preact/hooks';

export interface Store<T> {
	get(): T;
	set(value: T): void;
	on(listener: () => void): () => void;
}

export function store<T>(value: T): Store<T> {
	const listeners = new Set<() => void>();
	return {
		get: () => value,
		set: (next) => {
			if (Object.is(next, value)) return;
			value = next;
			for (const listener of [...listeners]) listener();
		},
		on: (listener) => {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
	};
}

export function useStore<T>(from: Store<T>): T {
	const [, again] = useState(0);
	useEffect(() => {
		again((n) => n + 1); // it may have changed between the first look and now
		return from.on(() => again((n) => n + 1));
	}, [from]);
	return from.get();
}

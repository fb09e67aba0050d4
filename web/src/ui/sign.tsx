// SPDX-License-Identifier: Apache-2.0
/** The mark: two strokes that countersign one line. */
export const Sign = () => (
	<svg class="sign" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
		<path d="M3 19.5h18" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" opacity=".45" />
		<path d="M4 12.5l4 4.5L17.5 5" fill="none" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />
		<path d="M12.5 15.5l1.5 1.5L21 8" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />
	</svg>
);

// SPDX-License-Identifier: Apache-2.0
// What runs in the page: the published SDK and its provider as they are, in reach of the test.
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { OpenFeature, ProviderEvents } from '@openfeature/web-sdk';

const seen = []; // what the SDK has said, in order
for (const event of Object.values(ProviderEvents)) OpenFeature.addHandler(event, (details) => seen.push({ event, changed: details?.flagsChanged ?? [], message: details?.message }));

window.countersign = {
	seen,
	begin: async (baseUrl, token, context, options = {}) => {
		await OpenFeature.setContext(context);
		await OpenFeature.setProviderAndWait(new OFREPWebProvider({ baseUrl, headers: [['Authorization', `Bearer ${token}`]], ...options }));
	},
	become: (context) => OpenFeature.setContext(context),
	details: (kind, key, otherwise) => OpenFeature.getClient()[`get${kind}Details`](key, otherwise),
	end: () => OpenFeature.close(),
};

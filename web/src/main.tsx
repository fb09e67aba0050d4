// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';

import './style/base.css';
import './style/shell.css';
import './style/inbox.css';
import './style/proposal.css';
import './style/pages.css';
import { App } from './app.tsx';
import { keepLive } from './lib/live.ts';
import './lib/notify.ts';

keepLive();
render(<App />, document.getElementById('app')!);

// Entry of the page.

import { render } from 'preact';
import './style/index.css';
import './model/last-lines.js';
import { watchForInvitation } from './model/invitation.js';
import { startSession } from './model/session.js';
import { App } from './shell/app.js';

// First: a link must not stay in the address.
watchForInvitation();
const root = document.getElementById('app');
if (root) render(<App />, root);
void startSession();

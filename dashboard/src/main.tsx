// Entry of the page.

import { render } from 'preact';
import './style/index.css';
import './model/last-lines.js';
import { watchForInvitation } from './model/invitation.js';
import { startSession } from './model/session.js';
import { App } from './shell/app.js';
import { startLanguage } from './texts/language.js';

// First: a link must not stay in the address.
watchForInvitation();
const root = document.getElementById('app');
// The page is drawn first in the language that it stays in.
void startLanguage().then(() => root && render(<App />, root));
void startSession();

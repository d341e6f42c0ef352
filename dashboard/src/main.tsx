import { render } from 'preact';

const root = document.getElementById('app');
if (root) render(<h1>Drover</h1>, root);

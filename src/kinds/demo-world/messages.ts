// Imported by the demo world's thread and by its parent. Owns the messages between them.

export type ToDemoWorld = { type: 'close' };

export type FromDemoWorld =
  | { type: 'listening'; httpUrl: string; tcpPort: number }
  | { type: 'failed'; message: string };

// Loaded in each thread of a tested service before all else: ends a thread as native code would. Bots cannot do that by themselves.

const { reallyExit } = process;
globalThis[Symbol.for('drover.test.endThread')] = (code) => reallyExit.call(process, code);

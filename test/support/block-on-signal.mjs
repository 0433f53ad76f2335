// Preloaded into a worker: SIGWINCH, which nobody else sends it, blocks its main loop for ever.
process.on('SIGWINCH', () => {
  for (;;);
});

const { BENCH_BROWSER, BENCH_FLAGS, BENCH_JOBS, BENCH_OUT } = process.env;

module.exports = {
  testDir: ".",
  testMatch: "*.spec.cjs",
  outputDir: BENCH_OUT,
  workers: Number(BENCH_JOBS),
  fullyParallel: true,
  reporter: "line",
  use: {
    viewport: { width: 800, height: 600 },
    launchOptions: { executablePath: BENCH_BROWSER, args: BENCH_FLAGS.split(",") },
  },
};

/** How long `run` keeps this process busy, in ms. Unlike elapsed time it does not grow on a busy machine. */
export async function cpuMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/**
 * A server that another program runs, such as `next start`, in its own process.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/**
 * Runs the command until the test has finished, or until `stop` is called.
 *
 * @param port - Finds the port in what the server prints when it listens.
 * @throws what the server has printed, when it ends before it listens.
 */
export async function startServer(
  [command = '', ...args]: readonly string[],
  { cwd, env = {}, port }: { cwd: string; env?: Readonly<Record<string, string>>; port: RegExp },
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await closed
  }
  onTestFinished(stop)
  let output = ''
  const found = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const [, number] = port.exec(output) ?? []
        if (number !== undefined) resolve(number)
      })
    }
    child.on('error', reject)
    child.on('close', () => reject(new Error(`${command} has ended:\n${output}`)))
  })
  return { url: `http://127.0.0.1:${found}`, stop }
}

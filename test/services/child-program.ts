/**
 * A server in its own process: it says where it listens with one message, and ends when we do.
 *
 * @module
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'

export interface ChildProgram {
  /** What the program said when it was ready. */
  readonly url: string
  /** Ends the process, and waits until it is gone. */
  stop(): Promise<void>
}

/** Runs `program` in `cwd`, silent unless it fails. Rejects with what it wrote if it ends before it is ready. */
export async function startChildProgram(
  program: URL,
  cwd: string,
  env: Record<string, string> = {},
): Promise<ChildProgram> {
  const child = fork(program, {
    cwd,
    env: { ...process.env, ...env },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  const gone = once(child, 'close')
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-10_000)))
  }
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => {
      if (typeof message === 'string') resolve(message)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      reject(new Error(`${program.pathname} ended with ${String(code)}:\n${output}`))
    })
  })
  return {
    url,
    async stop() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

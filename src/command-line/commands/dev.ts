/**
 * `dev`: an agent that is served on loopback, and restarted when its files change.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Command } from '../command.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { newToken, TOKEN_VARIABLE } from '../inspect/private-path.js'

const PORT = 3_000

export const command: Command = {
  name: 'dev',
  usage: 'dev FILE',
  summary: 'Serve an agent, and restart it when its files change',
  description: `The default export of FILE is an execute function, options of createRequestHandler, or a handler.
Listens on localhost only, with an inspector of its tasks beside it. TypeScript needs Node 22.18 or later, or the package tsx in your project.`,
  positionals: [1, 1],
  options: {
    port: {
      type: 'string',
      short: 'p',
      value: 'PORT',
      help: `The port to listen on. Default is PORT, or ${PORT}`,
    },
    once: { type: 'boolean', help: 'Serve it without watching files' },
  },
  examples: ['dev agent.js', 'dev src/agent.ts --port 4000'],
  async run(args, { cwd, env }) {
    const file = resolve(cwd, args.at(0))
    if (!existsSync(file)) throw usageFailure(`There is no file "${args.at(0)}"`, `Its path is from ${cwd}`)
    const port = args.integer('port') ?? (Number(env['PORT']) || PORT)
    if (port > 65_535) throw usageFailure(`--port must be at most 65535, got ${port}`)
    await requireFree(port)
    const watch = args.flag('once') ? [] : ['--watch', '--watch-preserve-output']
    // The server shows warnings itself, with the lines of the agent.
    return await serve(
      ['--no-warnings', ...watch, ...loaderOf(file), serverPath(), file, String(port)],
      cwd,
      port,
    )
  },
}

/** The file that serves, beside the file that this code is built into. */
function serverPath(): string {
  return fileURLToPath(new URL('./dev-server.js', import.meta.url))
}

/** Options of Node that load TypeScript, where Node itself does not. */
function loaderOf(file: string): string[] {
  if (!/\.[cm]?tsx?$/.test(file)) return []
  const features: Readonly<Record<string, unknown>> = { ...process.features }
  if (features['typescript']) return []
  try {
    const tsx = createRequire(join(dirname(file), 'package.json')).resolve('tsx')
    return ['--import', pathToFileURL(tsx).href]
  } catch {
    throw usageFailure(
      `Node ${process.versions.node} does not run TypeScript, and the project has no "tsx"`,
      'Run: npm install --save-dev tsx, or use Node 22.18 or later',
    )
  }
}

/** A server that is watched does not end when its port is taken. */
function requireFree(port: number): Promise<void> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const reason = isTaken ? 'is in use' : `cannot be listened on: ${error.message}`
      fail(usageFailure(`The port ${port} ${reason}`, 'Choose another one with --port'))
    })
    probe.listen(port, 'localhost', () => probe.close(() => done()))
  })
}

/**
 * Ctrl-C of a terminal reaches both processes. Other signals are passed on. The module finds the port as `PORT`, where its
 * card names its own. Other users of the machine can read the arguments of a process, and not its environment.
 */
function serve(nodeArgs: readonly string[], cwd: string, port: number): Promise<ExitCode> {
  return new Promise((done, fail) => {
    const server = spawn(process.execPath, nodeArgs, {
      ...{ cwd, stdio: 'inherit' },
      env: { ...process.env, PORT: String(port), [TOKEN_VARIABLE]: newToken() },
    })
    const stop = (signal: NodeJS.Signals): void => void server.kill(signal)
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    server.once('error', fail)
    server.once('exit', (code, signal) => {
      process.off('SIGTERM', stop)
      process.off('SIGINT', stop)
      done(signal !== null ? EXIT.interrupted : code === 0 ? EXIT.ok : EXIT.negative)
    })
  })
}

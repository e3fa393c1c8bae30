/**
 * Errors with their stacks, as a person reads them: the frames of their own code, and the others counted.
 *
 * @module
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { printable } from './printable.js'

const MAX_CAUSES = 8
const MAX_FRAMES = 50
const FRAME = /^ {4}at /

/** The folder of the package, beside whose `command-line` are its other modules. */
const PACKAGE = new URL('../', import.meta.url).href

/** The message of an error and its causes, with the frames of each. Paths are from `cwd`. */
export function errorText(error: unknown, cwd: string): string {
  const lines: string[] = []
  let cause = error
  for (let count = 0; count <= MAX_CAUSES && cause !== undefined; count += 1) {
    const [first = '', ...others] = linesOf(cause, cwd)
    lines.push(count === 0 ? first : `Caused by ${first}`, ...others)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return printable(lines.join('\n'))
}

function linesOf(error: unknown, cwd: string): string[] {
  if (!(error instanceof Error)) return inspect(error).split('\n')
  const { code } = error as { code?: unknown }
  const lines = (error.stack ?? String(error)).split('\n')
  const frames = lines.filter((line) => FRAME.test(line)).slice(0, MAX_FRAMES)
  const head = lines.filter((line) => !FRAME.test(line)).join('\n')
  return [`${head}${typeof code === 'string' ? ` (${code})` : ''}`, ...framesOf(frames, cwd)]
}

/** Frames of the user's code as they are. Those of another owner that follow each other are one line. */
function framesOf(frames: readonly string[], cwd: string): string[] {
  const lines: string[] = []
  let [last, count]: [string | undefined, number] = [undefined, 0]
  for (const frame of frames) {
    const owner = ownerOf(frame)
    count = owner === last ? count + 1 : 1
    if (owner !== undefined && count > 1) lines.pop()
    lines.push(owner === undefined ? ownPaths(frame, cwd) : `    … ${count} of ${owner}`)
    last = owner
  }
  return lines
}

function ownerOf(frame: string): string | undefined {
  if (frame.includes(PACKAGE)) return 'a2a-tasks'
  return /[( ]node:/.test(frame) ? 'Node' : undefined
}

/** `file:///srv/agent/agent.js:3:5` as `agent.js:3:5`, where the folder is `cwd`. */
function ownPaths(line: string, cwd: string): string {
  return line.replace(/file:\/\/[^\s:)]+/g, (url) => {
    const path = fileURLToPath(url)
    const own = relative(cwd, path)
    return own.startsWith('..') ? path : own
  })
}

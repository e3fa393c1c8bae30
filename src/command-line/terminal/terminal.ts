/**
 * Output of the command line: results on stdout, progress and errors on stderr.
 *
 * @module
 */
import { printable, printableJson } from './printable.js'
import { styled, wantsColors } from './style.js'

/** A stream of text, such as `process.stdout`. */
export interface TextStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const HIDDEN = '***'
/** Shorter values occur by chance. */
const MIN_SECRET = 6

/** Values that no output contains. */
export class Secrets {
  readonly #values = new Set<string>()

  add(value: string): void {
    if (value.length < MIN_SECRET) return
    this.#values.add(value)
    this.#values.add(JSON.stringify(value).slice(1, -1))
  }

  hide(text: string): string {
    let hidden = text
    for (const value of this.#values) hidden = hidden.replaceAll(value, HIDDEN)
    return hidden
  }
}

/** Writes text to a stream. All of it is made printable, and free of secrets. */
export class Channel {
  readonly #stream: TextStream
  readonly #secrets: Secrets
  readonly #hasColors: boolean
  #isAtLineStart = true

  constructor(stream: TextStream, secrets: Secrets, hasColors: boolean) {
    this.#stream = stream
    this.#secrets = secrets
    this.#hasColors = hasColors
  }

  /** Writes a text as it stands, which may be a part of a line. */
  write(text: string): void {
    if (text === '') return
    this.#isAtLineStart = text.endsWith('\n')
    this.#stream.write(styled(printable(this.#secrets.hide(text)), this.#hasColors))
  }

  /** Writes lines, on their own lines. */
  line(...lines: readonly string[]): void {
    this.endLine()
    for (const line of lines) this.write(`${line}\n`)
  }

  /** Ends the line that is begun, if one is. */
  endLine(): void {
    if (!this.#isAtLineStart) this.write('\n')
  }

  /** Makes room for lines of another channel, which on a terminal are between those of this one. */
  giveWay(): void {
    if (this.#stream.isTTY === true) this.endLine()
  }

  /** Writes JSON: with `indent` as a document, otherwise as one line. */
  json(value: unknown, indent?: number): void {
    this.#stream.write(`${this.#secrets.hide(printableJson(value, indent))}\n`)
  }
}

export interface Terminal {
  /** Results, for `stdout`. */
  readonly out: Channel
  /** Progress, questions and errors, for `stderr`. */
  readonly err: Channel
  readonly secrets: Secrets
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Whether the user can be asked. */
  readonly isInteractive: boolean
}

/** The terminal of a process. */
export function terminalOf(process: {
  readonly stdin: { readonly isTTY?: boolean }
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly env: Readonly<Record<string, string | undefined>>
  cwd(): string
}): Terminal {
  const { stdin, stdout, stderr, env } = process
  const secrets = new Secrets()
  return {
    out: new Channel(stdout, secrets, wantsColors(stdout, env)),
    err: new Channel(stderr, secrets, wantsColors(stderr, env)),
    secrets,
    env,
    cwd: process.cwd(),
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
  }
}

/**
 * Output of the command line: results on stdout, progress and errors on stderr.
 *
 * @module
 */
import { printable, printableJson } from './printable.js'
import { Redaction, Secrets } from './secrets.js'
import { styled, wantsColors } from './style.js'

/** A stream of text, such as `process.stdout`. */
export interface TextStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Writes text to a stream. All of it is made printable, and free of secrets. */
export class Channel {
  readonly #stream: TextStream
  readonly #secrets: Secrets
  readonly #redaction: Redaction
  readonly #hasColors: boolean
  #isAtLineStart = true

  constructor(stream: TextStream, secrets: Secrets, hasColors: boolean) {
    this.#stream = stream
    this.#secrets = secrets
    this.#redaction = new Redaction(secrets)
    this.#hasColors = hasColors
  }

  /** Writes a part of a text, which the next call continues: what may be the beginning of a secret waits for it. */
  write(text: string): void {
    if (text === '') return
    this.#redaction.add([text], ([shown = '']) => this.#put(shown))
  }

  /** Writes lines, each on a line of its own. Line ends within one are none of this program, and become spaces. */
  line(...lines: readonly string[]): void {
    this.endLine()
    for (const line of lines) this.#put(`${this.#secrets.hide(line).replace(/[\r\n]+/g, ' ')}\n`)
  }

  /** Writes a text of several lines, such as a result, on lines of its own. */
  text(text: string): void {
    this.endLine()
    this.#put(`${this.#secrets.hide(text)}\n`)
  }

  /** Ends the line that is begun, if one is. */
  endLine(): void {
    this.#redaction.end()
    if (!this.#isAtLineStart) this.#put('\n')
  }

  /** Makes room for lines of another channel, which on a terminal are between those of this one. */
  giveWay(): void {
    if (this.#stream.isTTY === true) this.endLine()
  }

  /** Writes JSON: with `indent` as a document, otherwise as one line. */
  json(value: unknown, indent?: number): void {
    this.endLine()
    this.#json(value, indent, '')
    this.#redaction.end()
  }

  /** Writes JSON as one line of several. Texts of parts in lines of the same `source` may make a secret together. */
  jsonLine(value: unknown, source: string): void {
    this.#json(value, undefined, source)
  }

  #json(value: unknown, indent: number | undefined, source: string): void {
    const holders: { text: string }[] = []
    const copy: unknown = JSON.parse(JSON.stringify(value), function (this: { text: string }, name, inner) {
      if (name === 'text' && typeof inner === 'string') holders.push(this)
      return inner as unknown
    })
    const show = (texts: readonly string[]): void => {
      for (const [index, holder] of holders.entries()) holder.text = texts[index] ?? ''
      this.#stream.write(`${printableJson(this.#secrets.hide(JSON.stringify(copy, undefined, indent)))}\n`)
    }
    this.#redaction.add(
      holders.map(({ text }) => text),
      show,
      source,
    )
  }

  #put(text: string): void {
    if (text === '') return
    this.#isAtLineStart = text.endsWith('\n')
    this.#stream.write(styled(printable(text), this.#hasColors))
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

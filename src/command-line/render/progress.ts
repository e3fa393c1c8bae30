/**
 * Progress of a task: its states on one channel, and with `streams` its artifacts as they grow on the other.
 *
 * @module
 */
import { textOf, type RunUpdate } from 'a2a-tasks/client'
import { printableLine } from '../terminal/printable.js'
import { dim } from '../terminal/style.js'
import type { Terminal } from '../terminal/terminal.js'
import { partsText } from './parts.js'
import { othersText, stateText } from './task.js'

/** Artifacts whose length is kept. A task with more has the others written twice after a reconnect. */
const MAX_ARTIFACTS = 10_000
const NOTHING = { length: 0, end: '' }

export class Progress {
  readonly #terminal: Pick<Terminal, 'out' | 'err'>
  readonly #streams: boolean
  /** Of each artifact: the length of its text that is written, and the last character. */
  readonly #written = new Map<string, { readonly length: number; readonly end: string }>()
  #status = ''

  constructor(terminal: Pick<Terminal, 'out' | 'err'>, { streams }: { streams: boolean }) {
    this.#terminal = terminal
    this.#streams = streams
  }

  /** Whether artifacts were written. */
  get hasWritten(): boolean {
    return this.#written.size > 0
  }

  show({ event, task }: RunUpdate): void {
    if (event.type === 'artifact') {
      if (this.#streams) this.#showChunk(event.artifact, event.append)
      return
    }
    if (event.type === 'message') return
    const { message } = task
    const text = message === undefined ? '' : printableLine(textOf(message) + othersText(task), 1_000)
    const status = `${task.state} ${text}`
    if (status !== this.#status) {
      this.#status = status
      this.#terminal.out.giveWay()
      this.#terminal.err.line(`${dim('·')} ${stateText(task.state)}${text === '' ? '' : `  ${text}`}`)
    }
    // A task as a whole comes again after a reconnect.
    if (event.type === 'task' && this.#streams)
      for (const artifact of task.artifacts) this.#showRest(artifact)
  }

  #showChunk({ artifactId, parts }: Artifact, append: boolean): void {
    const { out } = this.#terminal
    const before = this.#written.get(artifactId)
    if (!append || before === undefined) out.endLine()
    const { length, end } = append && before !== undefined ? before : NOTHING
    const text = partsText(parts, end)
    out.write(text)
    this.#keep(artifactId, length + text.length, (end + text).slice(-1))
  }

  #showRest({ artifactId, parts }: Artifact): void {
    const text = partsText(parts)
    const before = this.#written.get(artifactId)
    if (before === undefined) this.#terminal.out.endLine()
    const { length } = before ?? NOTHING
    this.#terminal.out.write(text.slice(length))
    if (text.length > length || before === undefined) this.#keep(artifactId, text.length, text.slice(-1))
  }

  #keep(artifactId: string, length: number, end: string): void {
    if (this.#written.has(artifactId) || this.#written.size < MAX_ARTIFACTS)
      this.#written.set(artifactId, { length, end })
  }
}

type Artifact = RunUpdate['task']['artifacts'][number]

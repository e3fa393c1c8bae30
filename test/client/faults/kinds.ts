/** Agents of the fault tests, and the expected result of a run of each. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Execute } from 'a2a-tasks/server'
import { textArtifact, type Act, type Agent as Script } from '../interop/agents.js'
import type { Random } from './random.js'

export const KINDS = ['instant', 'stream', 'long', 'ask', 'ask again', 'ask by turns', 'fail'] as const

/** The message of a run says what it is: `kind|name|size`. */
export interface Assignment {
  readonly text: string
  readonly messageId: string
  /** Those of our answers. */
  readonly answers: readonly string[]
  readonly expected: { readonly type: 'completed' | 'failed'; readonly text: string }
}

export function assign(random: Random, name: string, kinds: readonly string[] = KINDS): Assignment {
  const kind = random.pick(kinds)
  const size = random.between(1, 30)
  const questions = kind === 'ask again' ? 2 : kind.startsWith('ask') ? 1 : 0
  const answers = Array.from({ length: questions }, (_, index) => `answer-${index}-${name}`)
  return {
    text: `${kind}|${name}|${size}`,
    messageId: `message-${name}`,
    answers,
    expected: {
      type: kind === 'fail' ? 'failed' : 'completed',
      text:
        kind === 'fail'
          ? `No: ${name}`
          : `${kind} ${name}: ${answers.join() || chunksOf(kind, size).join('')}`,
    },
  }
}

function chunksOf(kind: string, size: number): string[] {
  return Array.from({ length: kind === 'stream' ? size : 1 }, (_, index) => `${index};`)
}

/** Number of times that each message was processed. */
export class Tally {
  readonly #counts = new Map<string, number>()

  count(messageId: string): void {
    this.#counts.set(messageId, (this.#counts.get(messageId) ?? 0) + 1)
  }

  /** Those that were not worked on exactly once. */
  faultsOf(messageIds: readonly string[]): string[] {
    const expected = new Set(messageIds)
    const strange = [...this.#counts.keys()].filter((id) => !expected.has(id))
    const wrong = messageIds.filter((id) => this.#counts.get(id) !== 1)
    return [...strange, ...wrong].map((id) => `${id} × ${this.#counts.get(id) ?? 0}`)
  }
}

/** The agent of this library. */
export function executorOf(tally: Tally): Execute {
  return async (run) => {
    tally.count(run.message.messageId)
    const first = run.messages[0]?.parts[0]?.text ?? ''
    const [kind = '', name = '', size] = first.split('|')
    const head = `${kind} ${name}: `
    if (kind === 'fail') {
      run.fail(`No: ${name}`)
      return
    }
    if (kind === 'ask by turns') {
      if (run.message.taskId === undefined) void run.requireInput('Which?')
      else run.artifact(`${head}${run.text}`)
      return
    }
    if (kind.startsWith('ask')) {
      const answers: string[] = []
      for (let left = kind === 'ask again' ? 2 : 1; left > 0; left -= 1) {
        const { messageId, parts } = await run.requireInput('Which?')
        tally.count(messageId)
        answers.push(parts[0]?.text ?? '')
        await turn()
      }
      run.artifact(head + answers.join())
      return
    }
    if (kind === 'long') {
      for (let current = 1; current <= 5; current += 1) {
        await wait(4)
        run.update({ current, total: 5 })
      }
    }
    if (kind !== 'instant') await turn()
    const artifactId = run.artifact(head)
    for (const chunk of chunksOf(kind, Number(size))) {
      if (kind === 'stream') await turn()
      run.artifact({ artifactId, parts: [{ text: chunk }] })
    }
  }
}

/** The same for the adapters of the interop tests. */
export function scriptOf(tally: Tally): Script {
  const beginnings = new Map<string, string>()
  return async function* script({ text, messageId, isFollowUp }): AsyncGenerator<Act> {
    tally.count(messageId)
    // Answers end with the name of their conversation.
    const name = (isFollowUp ? text.replace(/^answer-\d+-/, '') : text.split('|')[1]) ?? ''
    const [kind = '', , size] = (isFollowUp ? (beginnings.get(name) ?? '') : text).split('|')
    beginnings.set(name, isFollowUp ? (beginnings.get(name) ?? '') : text)
    if (kind === 'fail') {
      yield { status: 'failed', text: `No: ${name}` }
      return
    }
    if (kind.startsWith('ask') && !isFollowUp) {
      yield { status: 'input-required', text: 'Which?' }
      return
    }
    if (kind === 'long') await wait(20)
    const head = `${kind} ${name}: `
    yield { artifact: textArtifact(head) }
    for (const chunk of isFollowUp ? [text] : chunksOf(kind, Number(size))) {
      if (kind === 'stream') await turn()
      yield { artifact: textArtifact(chunk), append: true }
    }
    yield { status: 'completed' }
  }
}

/** What a program leads to by the rules of durable functions, whatever goes wrong. */
import type { Program } from './functions.js'
import { answerTo, play, type Outside, type Player } from './play.js'

export interface Expected {
  readonly state: 'completed' | 'failed'
  /** The texts of the artifacts whose ids the program gives. */
  readonly named: ReadonlyMap<string, string>
  /** The texts of all others, sorted. */
  readonly unnamed: readonly string[]
  /** The questions to the user, sorted. */
  readonly questions: readonly string[]
  /** How many of them nobody answers: when their time has passed before they are asked, they are not asked. */
  readonly late: number
  /** How many of them have an answer. */
  readonly answers: number
  /** The keys that the program sets in the metadata of the task, sorted. */
  readonly metadata: readonly string[]
  /** How often the program spends. */
  readonly spent: number
  /** The names of the signals that the program waits for. */
  readonly signals: readonly string[]
  /** The names of the steps that are done, each as often as it is. */
  readonly steps: readonly string[]
  /** The messages to the second agent, as their labels. */
  readonly errands: readonly string[]
}

class Continued extends Error {}

/** Keeps in memory what a program does. Nothing takes time, and nothing fails. */
class Model {
  readonly named = new Map<string, string>()
  readonly unnamed: string[] = []
  readonly questions: string[] = []
  answers = 0
  readonly metadata = new Set<string>()
  spent = 0
  readonly signals: string[] = []
  readonly steps: string[] = []
  readonly errands: string[] = []
  text = 'go'

  readonly outside: Outside = {
    agent: () => ({
      card: { name: 'agent' },
      run: () => Promise.reject(new Error('The model has no agent')),
    }),
    failsNow: () => false,
    onStep: () => undefined,
    pause: () => Promise.resolve(),
  }

  player(): Player {
    // The model has what programs use: its answers have no more than that.
    const own = {
      text: this.text,
      update: () => undefined,
      artifact: (artifact: Parameters<Player['artifact']>[0], options: { append?: boolean } = {}) =>
        this.#write(artifact, options.append),
      step: async (name: string, work: (step: { key: string }) => unknown) => {
        this.steps.push(name)
        return await work({ key: name })
      },
      requireInput: (question: string) => {
        const text = this.#ask(question) ?? ''
        return Promise.resolve(question.startsWith('Say ') ? Number(text) : { parts: [{ text }] })
      },
      approve: (_: string, { message }: { message: string }) =>
        Promise.resolve(this.#ask(message) ?? 'expired'),
      ask: ({ one, two }: Record<'one' | 'two', { message: string }>) => {
        // One message asks both.
        this.#ask(one.message)
        return Promise.resolve({ one: answerTo(one.message), two: Number(answerTo(two.message)) })
      },
      authorize: (name: string, { message }: { message: string }) =>
        this.#ask(message) === undefined
          ? own.waitFor(name)
          : Promise.reject(new Error('The user has declined')),
      setMetadata: (changes: object) => {
        for (const key of Object.keys(changes)) this.metadata.add(key)
      },
      spend: () => {
        this.spent += 1
      },
      sleep: () => Promise.resolve(),
      waitFor: (name: string) => {
        this.signals.push(name)
        return Promise.resolve(`signal ${this.signals.filter((each) => each === name).length}`)
      },
      delegate: (_: string, __: unknown, message: string, options: object) =>
        this.#delegate(message, options),
      now: () => 1,
      random: () => 0,
      uuid: () => '0'.repeat(36),
      continueAs: (text: string) => {
        this.text = text
        return Promise.reject(new Continued())
      },
    }
    return own as unknown as Player
  }

  /** The answer; `undefined` if nobody gives one. */
  #ask(question: string): string | undefined {
    this.questions.push(question)
    const answer = answerTo(question)
    if (answer !== undefined) this.answers += 1
    return answer
  }

  #write(artifact: Parameters<Player['artifact']>[0], append = true): string {
    if (typeof artifact === 'string') throw new TypeError('Programs write parts')
    const text = (artifact.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('')
    const { artifactId } = artifact
    if (artifactId === undefined) return String(this.unnamed.push(text))
    this.named.set(artifactId, (append ? (this.named.get(artifactId) ?? '') : '') + text)
    return artifactId
  }

  #delegate(message: string, options: object): Promise<object> {
    // `perform` made the text.
    const { label, asks, fails } = JSON.parse(message) as { label: string; asks: boolean; fails: boolean }
    this.errands.push(label)
    if (asks && !('onInputRequired' in options)) this.#ask(`agent ${label}?`)
    if (fails) return Promise.resolve({ ok: false, type: 'failed', text: '' })
    return Promise.resolve({ ok: true, type: 'completed', text: errandText(label, asks) })
  }
}

/** The answer of the second agent. */
export function errandText(label: string, asked: boolean): string {
  return `errand ${label}${asked ? ` ${answerTo(`agent ${label}?`) ?? ''}` : ''}`
}

export async function expectedOf(program: Program): Promise<Expected> {
  const model = new Model()
  let state: Expected['state'] = 'completed'
  for (;;) {
    try {
      const played = play(model.player(), program, model.outside)
      await outputOf(model, played)
      break
    } catch (error) {
      if (error instanceof Continued) continue
      state = 'failed'
      break
    }
  }
  const { named, unnamed, questions, answers, spent, signals, steps, errands } = model
  return {
    state,
    named,
    unnamed: unnamed.sort(),
    questions: questions.sort(),
    answers,
    late: questions.length - answers,
    metadata: [...model.metadata].sort(),
    spent,
    signals,
    steps: steps.sort(),
    errands: errands.sort(),
  }
}

/** What a program returns becomes an artifact; what it yields, the chunks of one, of each round. */
async function outputOf(model: Model, played: ReturnType<typeof play>): Promise<void> {
  if (Symbol.asyncIterator in played) {
    let at: number | undefined
    for await (const text of played) {
      at ??= model.unnamed.push('') - 1
      model.unnamed[at] = `${model.unnamed[at] ?? ''}${text}`
    }
    return
  }
  const text = await played
  if (text !== undefined) model.unnamed.push(text)
}

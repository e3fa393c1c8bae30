/** Plays a program: as the `execute` of an agent, or in the model of what a run does. */
import { textOf, type Run, type StandardSchema } from 'a2a-tasks/server'
import { EXPIRES_MS, type Act, type Program, type Write } from './functions.js'

type StepRun = Pick<Run, 'artifact'>
/** What a program uses of a run. */
export type Player = StepRun &
  Pick<
    Run,
    | 'text'
    | 'signal'
    | 'update'
    | 'step'
    | 'requireInput'
    | 'approve'
    | 'ask'
    | 'authorize'
    | 'setMetadata'
    | 'spend'
    | 'sleep'
    | 'waitFor'
    | 'delegate'
    | 'now'
    | 'random'
    | 'uuid'
    | 'continueAs'
  >

/** What a program does outside of its run. */
export interface Outside {
  readonly agent: () => Parameters<Run['delegate']>[1]
  /** Counts a failure that passes. Returns whether to fail now. */
  readonly failsNow: (place: string, times: number) => boolean
  /** A step with this key has begun its work, or has done it. */
  readonly onStep: (key: string, when: 'begins' | 'does') => void
  readonly pause: (ms: number) => Promise<void>
}

const LOGIN = 'https://login.test'

/** What the code of a program returns. */
export type Played = Promise<string | undefined> | AsyncIterable<string>

export function play(run: Player, program: Program, outside: Outside): Played {
  const { rounds, isGenerator, end } = program
  // What the user says unasked begins a turn of its own, unless it steers or answers.
  if (run.text !== 'go' && !run.text.startsWith('round ')) return Promise.resolve(undefined)
  const round = run.text.startsWith('round ') ? Number(run.text.slice(6)) : 0
  const texts = async function* (): AsyncGenerator<string> {
    for (const [at, act] of (rounds[round] ?? []).entries())
      yield `${await perform(run, act, `${round}.${at}`, outside)};`
    if (round < rounds.length - 1) await run.continueAs(`round ${round + 1}`)
    if (end === 'fails') throw new Error('The end')
  }
  if (isGenerator) return texts()
  return (async () => {
    const all: string[] = []
    for await (const text of texts()) all.push(text)
    return end === 'text' ? all.join('') : undefined
  })()
}

async function perform(run: Player, act: Act, label: string, outside: Outside): Promise<string> {
  switch (act.act) {
    case 'artifact':
      write(run, act, label)
      return label
    case 'update':
      run.update(`At ${label}`)
      return label
    case 'step':
      return await step(run, act, label, outside)
    case 'all': {
      const branches = act.branches.map((acts, at) => sequence(run, acts, `${label}.${at}`, outside))
      return `[${(await Promise.all(branches)).join()}]`
    }
    case 'times': {
      const texts: string[] = []
      for (let count = 0; count < act.times; count += 1)
        texts.push(await sequence(run, act.acts, label, outside))
      return texts.join('|')
    }
    case 'ask':
      return textOf(await run.requireInput(`${label}?`))
    case 'form':
      return await fill(run, act.kind, label)
    case 'sleep':
      await run.sleep(label, { ms: act.ms })
      return label
    case 'signal':
      return await run.waitFor<string>(label)
    case 'delegate': {
      const options = act.answers === 'code' ? { onInputRequired: answered } : {}
      const message = JSON.stringify({ ...act.errand, label })
      const { ok, type, text } = await run.delegate(label, outside.agent(), message, options)
      return ok ? text : type
    }
    case 'values':
      return String([run.now() > 0, run.random() < 1, run.uuid().length])
    case 'metadata':
      run.setMetadata({ [label]: true })
      return label
    case 'spend':
      run.spend({ acts: 1 })
      return label
    case 'throw':
      if (outside.failsNow(label, act.times)) throw new Error(`Thrown at ${label}`)
      return label
  }
}

async function fill(
  run: Player,
  kind: Extract<Act, { readonly act: 'form' }>['kind'],
  label: string,
): Promise<string> {
  switch (kind) {
    case 'verdict':
      return await run.approve(label, { message: `Say reject at ${label}`, signal: run.signal })
    case 'late':
      return await run.approve(label, { message: `Say nothing at ${label}`, expiresInMs: EXPIRES_MS })
    case 'login':
      return await run.authorize<string>(label, { url: LOGIN, message: `Say nothing at ${label}` })
    case 'declined': {
      const message = `Say decline at ${label}`
      return await run.authorize<string>(label, { url: LOGIN, message }).catch(() => kind)
    }
    case 'number':
      return String(await run.requireInput(`Say 42 at ${label}`, { name: label, ...wanting('number') }))
    case 'several': {
      const { one, two } = await run.ask({
        one: { message: `Say red at ${label}`, ...wanting('string') },
        two: { message: `Say 7 at ${label}`, ...wanting('number') },
      })
      return `${String(one)} ${String(two)}`
    }
  }
}

/** A schema of values of one type. */
function wanting(type: 'string' | 'number'): {
  readonly schema: StandardSchema
  readonly jsonSchema: object
} {
  const validate = (value: unknown): { value: unknown } | { issues: { message: string }[] } =>
    typeof value === type ? { value } : { issues: [{ message: `must be a ${type}` }] }
  return {
    schema: { '~standard': { version: 1, vendor: 'simulation', validate } },
    jsonSchema: { type },
  }
}

const answered = ({ text }: { readonly text: string }): string | undefined => answerTo(text)

/** What users, and code in their place, answer: what the question wants, a line for each. Nothing where it wants nothing. */
export function answerTo(question: string): string | undefined {
  const wanted = [...question.matchAll(/^(?:(\w+): )?Say (\S+) at /gm)]
  if (wanted.length === 0) return `re: ${question}`
  if (wanted.some(([, , word]) => word === 'nothing')) return undefined
  return wanted.map(([, name, word]) => `${name === undefined ? '' : `${name}: `}${word ?? ''}`).join('\n')
}

async function sequence(run: Player, acts: readonly Act[], label: string, outside: Outside): Promise<string> {
  const texts: string[] = []
  for (const [at, act] of acts.entries()) texts.push(await perform(run, act, `${label}.${at}`, outside))
  return texts.join('+')
}

function write(run: StepRun, { id, append }: Write, text: string): void {
  const parts = [{ text: `${text};` }]
  run.artifact(id === undefined ? { parts } : { artifactId: id, parts }, { append })
}

async function step(
  run: Player,
  act: Extract<Act, { readonly act: 'step' }>,
  label: string,
  outside: Outside,
): Promise<string> {
  const { ms, writes, fails, retry } = act
  const work = async ({ key }: { readonly key: string }): Promise<Map<string, Date>> => {
    outside.onStep(key, 'begins')
    for (const [at, each] of writes.entries()) {
      write(run, each, `${label}-${at}`)
      if (at === 0 && ms > 0) await outside.pause(ms / 2)
    }
    if (ms > 0) await outside.pause(ms / 2)
    if (fails > 0 && (retry === 'caught' || outside.failsNow(key, fails)))
      throw new RangeError(`Failed at ${label}`)
    outside.onStep(key, 'does')
    return new Map([[label, new Date(ms)]])
  }
  const backoff = { initialMs: 20 }
  const options = fails > 0 && retry === 'step' ? { retry: { attempts: fails + 1, backoff } } : {}
  const result = run
    .step(label, work, options)
    .then((output) => (output.get(label)?.getTime() === ms ? label : 'another output'))
  return retry === 'caught' ? await result.catch(String) : await result
}

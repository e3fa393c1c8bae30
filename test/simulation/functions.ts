/** Functions as data: random ones, and their code for people. */
import type { Random } from './random.js'

/** A chunk of an artifact. Without an id, the run generates one. */
export interface Write {
  readonly act: 'artifact'
  readonly id?: string
  readonly append: boolean
}

/** What the second agent does with a message. */
export interface Errand {
  readonly ms: number
  readonly asks: boolean
  readonly fails: boolean
}

/** `login` and `declined` wait for a signal beside a question: the user sends it, or declines. */
type FormKind = 'verdict' | 'number' | 'several' | 'late' | 'login' | 'declined'

/** One thing that a function does. The label of an act is its place, and the name that it gives to steps and waits. */
export type Act =
  | Write
  | { readonly act: 'update' }
  | {
      readonly act: 'step'
      /** How long the work takes, in ms, half of it after the first write. */
      readonly ms: number
      readonly writes: readonly Write[]
      /** How often the work throws before it succeeds. */
      readonly fails: number
      /** Whether the step tries again by itself, `execute` does by the option `retry`, or the error is caught and final. */
      readonly retry: 'step' | 'execute' | 'caught'
    }
  | { readonly act: 'all'; readonly branches: readonly (readonly Act[])[] }
  | { readonly act: 'times'; readonly times: number; readonly acts: readonly Act[] }
  | { readonly act: 'ask' }
  /** A question with a schema. Nobody answers one that is `late`, so that it expires. */
  | { readonly act: 'form'; readonly kind: FormKind }
  | { readonly act: 'sleep'; readonly ms: number }
  | { readonly act: 'signal' }
  | { readonly act: 'delegate'; readonly errand: Errand; readonly answers: 'user' | 'code' }
  | { readonly act: 'values' }
  | { readonly act: 'metadata' }
  | { readonly act: 'spend' }
  | { readonly act: 'throw'; readonly times: number }

/** After this time, a question that nobody answers is withdrawn. */
export const EXPIRES_MS = 300

export interface Program {
  /** Between two rounds, the function calls `run.continueAs`. */
  readonly rounds: readonly (readonly Act[])[]
  readonly isGenerator: boolean
  readonly end: 'text' | 'nothing' | 'fails'
}

interface Place {
  readonly depth: number
  /** Branches in parallel throw nothing. Those of schedules with small seeds write artifacts within steps only. */
  readonly isBranch: boolean
  /** For ids of artifacts: branches do not share them. */
  readonly name: string
  /** One question can be open at a time. */
  mayAsk: boolean
  readonly kinds: typeof KINDS
}

export function randomProgram(random: Random, seed: number): Program {
  const kinds = seed < WIDE ? KINDS : seed < WIDEST ? WIDE_KINDS : WIDEST_KINDS
  const rounds: Act[][] = []
  const count = random.chance(0.15) ? 2 : 1
  for (let round = 0; round < count; round += 1) {
    const place: Place = { depth: 0, isBranch: false, name: '', mayAsk: true, kinds }
    rounds.push(actsOf(random, random.whole(1, count === 1 ? 4 : 2), place))
  }
  const isGenerator = random.chance(0.25)
  return { rounds, isGenerator, end: random.pick(['text', 'text', 'text', 'nothing', 'fails']) }
}

function actsOf(random: Random, count: number, place: Place): Act[] {
  return Array.from({ length: count }, () => actOf(random, place))
}

const KINDS: readonly [Act['act'], ...Act['act'][]] = [
  ...(['artifact', 'artifact', 'step', 'step', 'step', 'step', 'all', 'all', 'times'] as const),
  ...(['ask', 'ask', 'sleep', 'signal', 'delegate', 'delegate', 'values', 'throw', 'update'] as const),
]
/** Those of schedules with seeds from {@link WIDE} on: programs of smaller seeds stay as they are. */
const WIDE_KINDS: typeof KINDS = [...KINDS, 'form', 'form', 'metadata', 'spend']
export const WIDE = 10_000_000
/** Those of schedules with seeds from {@link WIDEST} on. */
const WIDEST_KINDS: typeof KINDS = [...WIDE_KINDS, 'form', 'form']
const FORMS: readonly [FormKind, ...FormKind[]] = ['verdict', 'number', 'several', 'late']
const WIDEST_FORMS: typeof FORMS = ['verdict', 'number', 'late', 'login', 'login', 'declined']
export const WIDEST = 50_000_000

function actOf(random: Random, place: Place): Act {
  const kind = random.pick(place.kinds)
  switch (kind) {
    case 'artifact':
      return place.isBranch && place.kinds === KINDS ? stepOf(random, place) : writeOf(random, place)
    case 'step':
      return stepOf(random, place)
    case 'all':
    case 'times':
      return random.chance(place.depth / 2 + 0.1) ? stepOf(random, place) : blockOf(random, place, kind)
    case 'ask':
      if (isWidest(place)) return { act: 'form', kind: 'verdict' }
      return mayAsk(place) ? { act: 'ask' } : { act: 'sleep', ms: 50 }
    case 'form':
      return randomForm(random, place)
    case 'sleep':
      return { act: 'sleep', ms: random.pick([20, 200, 1_000, 4_000]) }
    case 'delegate':
      return delegateOf(random, place)
    case 'throw':
      return place.isBranch ? { act: 'values' } : { act: 'throw', times: random.whole(1, 2) }
    default:
      return { act: kind }
  }
}

function randomForm(random: Random, place: Place): Act {
  if (!isWidest(place) && !mayAsk(place)) return { act: 'metadata' }
  return { act: 'form', kind: random.pick(place.kinds === WIDEST_KINDS ? WIDEST_FORMS : FORMS) }
}

/** Whether all branches may ask: questions with schemas wait for each other, and there are no others in branches. */
function isWidest({ isBranch, kinds }: Place): boolean {
  return isBranch && kinds === WIDEST_KINDS
}

/** Takes the right to ask, which a place in parallel has once. */
function mayAsk(place: Place): boolean {
  const { mayAsk: may } = place
  if (place.isBranch) place.mayAsk = false
  return may
}

function writeOf(random: Random, { name }: Place): Write {
  const append = random.chance(0.8)
  return random.chance(0.4)
    ? { act: 'artifact', append }
    : { act: 'artifact', id: `${name}${random.pick(['a', 'b'])}`, append }
}

function stepOf(random: Random, place: Place): Act {
  const writes = Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () => writeOf(random, place))
  const fails = random.pick([0, 0, 0, 1, 2])
  const retry = random.pick(place.isBranch ? ['step', 'caught'] : ['step', 'execute', 'caught'])
  return { act: 'step', ms: random.pick([0, 0, 5, 50, 400]), writes, fails, retry }
}

function blockOf(random: Random, place: Place, act: 'all' | 'times'): Act {
  const depth = place.depth + 1
  if (act === 'times') {
    const times = random.whole(2, 3)
    return {
      act,
      times,
      acts: actsOf(random, random.whole(1, 2), { ...place, depth, mayAsk: place.mayAsk && !place.isBranch }),
    }
  }
  const asking = random.whole(0, 3)
  const branches = Array.from({ length: random.whole(2, 3) }, (_, at) => {
    const inner: Place = {
      depth,
      kinds: place.kinds,
      isBranch: true,
      name: `${place.name}${at}`,
      mayAsk: place.mayAsk && at === asking,
    }
    return actsOf(random, random.whole(1, 2), inner)
  })
  return { act, branches }
}

function delegateOf(random: Random, place: Place): Act {
  const answers = random.chance(0.5) ? 'code' : 'user'
  const wantsToAsk = random.chance(0.3)
  const asks = wantsToAsk && (answers === 'code' || (!isWidest(place) && mayAsk(place)))
  const ms = random.pick([0, 20, 100, 300, 1_000])
  return { act: 'delegate', errand: { ms, asks, fails: random.chance(0.15) }, answers }
}

/** The function as code. */
export function codeOf({ rounds, isGenerator, end }: Program): string {
  const lines = rounds.flatMap((acts, round) => {
    const isLast = round === rounds.length - 1
    const code = linesOf(acts, `${round}`, isLast ? '  ' : '    ')
    if (isLast) return code
    const text = round === 0 ? 'go' : `round ${round}`
    return [
      `  if (run.text === '${text}') {`,
      ...code,
      `    await run.continueAs('round ${round + 1}')`,
      '  }',
    ]
  })
  const last = {
    text: `  return 'done'`,
    nothing: '  return undefined',
    fails: `  throw new Error('The end')`,
  }[end]
  return [`async function${isGenerator ? '*' : ''} execute(run) {`, ...lines, last, '}'].join('\n')
}

function linesOf(acts: readonly Act[], label: string, indent: string): string[] {
  return acts.flatMap((act, at) => codeOfAct(act, `${label}.${at}`).map((line) => indent + line))
}

function codeOfAct(act: Act, label: string): string[] {
  switch (act.act) {
    case 'artifact':
      return [codeOfWrite(act)]
    case 'update':
      return [`run.update('At ${label}')`]
    case 'step':
      return codeOfStep(act, label)
    case 'all':
      return [
        'await Promise.all([',
        ...act.branches.flatMap((branch, at) => [
          '  (async () => {',
          ...linesOf(branch, `${label}.${at}`, '    '),
          '  })(),',
        ]),
        '])',
      ]
    case 'times':
      return [`for (let i = 0; i < ${act.times}; i++) {`, ...linesOf(act.acts, label, '  '), '}']
    case 'ask':
      return [`await run.requireInput('${label}?')`]
    case 'form':
      return [codeOfForm(act.kind, label)]
    case 'sleep':
      return [`await run.sleep('${label}', { ms: ${act.ms} })`]
    case 'signal':
      return [`await run.waitFor('${label}')`]
    case 'delegate': {
      const { ms, asks, fails } = act.errand
      const errand = [`works ${ms} ms`, ...(asks ? ['asks'] : []), ...(fails ? ['fails'] : [])].join(', ')
      const options = act.answers === 'code' ? `, { onInputRequired: ({ text }) => 're: ' + text }` : ''
      return [`await run.delegate('${label}', agent, 'errand'${options}) // ${errand}`]
    }
    case 'values':
      return ['run.now(), run.random(), run.uuid()']
    case 'metadata':
      return [`run.setMetadata({ '${label}': true })`]
    case 'spend':
      return ['run.spend({ acts: 1 })']
    case 'throw':
      return [`if (thrown < ${act.times}) throw new Error('${label}')`]
  }
}

function codeOfForm(kind: FormKind, label: string): string {
  switch (kind) {
    case 'verdict':
      return `await run.approve('${label}', { message, signal: run.signal })`
    case 'late':
      return `await run.approve('${label}', { message, expiresInMs: ${EXPIRES_MS} })`
    case 'login':
    case 'declined':
      return `await run.authorize('${label}', { url, message }) // ${kind}`
    case 'number':
      return `await run.requireInput(message, { name: '${label}', schema: z.number() })`
    case 'several':
      return `await run.ask({ one: { message, schema: z.string() }, two: { message, schema: z.number() } })`
  }
}

function codeOfWrite({ id, append }: Write): string {
  const name = id === undefined ? '' : `artifactId: '${id}', `
  return `run.artifact({ ${name}parts: [{ text }] }${append ? '' : ', { append: false }'})`
}

function codeOfStep(act: Extract<Act, { readonly act: 'step' }>, label: string): string[] {
  const { ms, writes, fails, retry } = act
  const failing =
    fails === 0 ? [] : [retry === 'caught' ? 'throw new Error()' : `if (thrown < ${fails}) throw new Error()`]
  const inside = [...writes.map(codeOfWrite), ...(ms > 0 ? [`await pause(${ms})`] : []), ...failing]
  const options = fails > 0 && retry === 'step' ? `, { retry: { attempts: ${fails + 1} } }` : ''
  const after = fails > 0 && retry === 'caught' ? '.catch(String)' : ''
  return [
    `await run.step('${label}', async () => {`,
    ...inside.map((line) => `  ${line}`),
    `}${options})${after}`,
  ]
}

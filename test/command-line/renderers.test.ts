/** Texts, cards, profiles and handles of the command line, without a process. */
import { SPENDING } from 'a2a-tasks'
import type { RemoteTask } from 'a2a-tasks/client'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Arguments } from '../../src/command-line/arguments.js'
import { locateStore } from '../../src/command-line/stores/location.js'
import { nearest } from '../../src/command-line/suggestion.js'
import { cardDifferences } from '../../src/command-line/card/diff.js'
import { decodeHandle, encodeHandle } from '../../src/command-line/connection/handle.js'
import { profilesPath } from '../../src/command-line/connection/profiles.js'
import { quoted } from '../../src/command-line/follow.js'
import { Progress } from '../../src/command-line/render/progress.js'
import { printable, printableJson, printableLine } from '../../src/command-line/terminal/printable.js'
import { bold, wantsColors } from '../../src/command-line/terminal/style.js'
import { Secrets } from '../../src/command-line/terminal/secrets.js'
import { Channel } from '../../src/command-line/terminal/terminal.js'
import { taskLines } from '../../src/command-line/render/task.js'
import { TOOL_CALLS } from '../../src/wire/tool-calls.js'
import { samples } from '../support/samples.js'
import { HOSTILE } from './support/agents.js'

function channel(secrets = new Secrets(), hasColors = false): { channel: Channel; text: () => string } {
  let text = ''
  return { channel: new Channel({ write: (more) => (text += more) }, secrets, hasColors), text: () => text }
}

/** As an agent with AI SDK leaves it. */
function agentTask(): RemoteTask {
  const call = { id: 'c1', name: 'book', state: 'done' }
  return {
    ...{ id: 't', contextId: 'c', state: 'completed', messages: [] },
    artifacts: [
      { artifactId: 'a', parts: [{ text: 'Done' }], metadata: { [TOOL_CALLS]: { calls: [call] } } },
    ],
    metadata: { a: 1, [SPENDING]: { total: { inputTokens: 20, cost: 0.5 } } },
  }
}

describe('a text of an agent', () => {
  test.each<[string, string]>([
    ['\x1b]52;c;aGk=\x07', '\\x1b]52;c;aGk=\\x07'],
    ['\x9b2J', '\\x9b2J'],
    ['a\rb\x08c\x7f', 'a\\x0db\\x08c\\x7f'],
    ['\u202egnp.exe\u2066', '\\u202egnp.exe\\u2066'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['a\u200bb\u200cc\u200dd\u2060\u00ad', 'a\\u200bb\\u200cc\\u200dd\\u2060\\xad'],
    ['\u115f\u1160\u3164\uffa0\u034f\u180e', '\\u115f\\u1160\\u3164\\uffa0\\u034f\\u180e'],
    ['a\ufe0f\u{e0100}👩\u200dx', 'a\\ufe0f\\u{e0100}👩\\u200dx'],
    ['a\tb\r\nc', 'a\tb\nc'],
    ['naïve 日本語 👩‍🚀 עברית', 'naïve 日本語 👩‍🚀 עברית'],
    // Their invisible characters belong to them.
    ['⚠️ 1️⃣ 👩🏽‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم क्‍ष', '⚠️ 1️⃣ 👩🏽‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم क्‍ष'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('on a line has no line ends, and a bounded length', () => {
    expect(printableLine('one\n two\t\tthree')).toBe('one two three')
    expect(printableLine('👩'.repeat(1_000_000), 3)).toBe('👩👩…')
  })

  test('in JSON is the same value', () => {
    const value = { [HOSTILE]: `${HOSTILE}\u{e0041}\ud800` }
    const shown = printableJson(JSON.stringify(value, undefined, 2))
    expect(shown).not.toMatch(/[\x1b\x9b\u202e]|\u{e0041}/u)
    expect(JSON.parse(shown)).toEqual(value)
  })
})

test('a task is shown with what it has spent and the calls of its tools', () => {
  expect(taskLines(agentTask())).toEqual(
    expect.arrayContaining(['Spent    20 inputTokens, 0.5 cost', '  book: done', 'Metadata {"a":1}']),
  )
})

describe('a channel', () => {
  test('hides secrets, also in JSON', () => {
    const secrets = new Secrets()
    secrets.add('pass"word')
    const { channel: out, text } = channel(secrets)
    out.line('a pass"word b')
    out.json({ a: 'pass"word' })
    expect(text()).toBe('a *** b\n{"a":"***"}\n')
  })

  test('writes its own colours, and no colours of an agent', () => {
    const { channel: out, text } = channel(new Secrets(), true)
    // What is before a style may be known to an agent, as noncharacters of Unicode are.
    out.line(bold('title'), '\x1b[31mred', '\ufdd331\ufdd1red\ufdd0')
    expect(text()).toBe('\x1b[1mtitle\x1b[0m\n\\x1b[31mred\n\ufdd331\ufdd1red\ufdd0\n')
  })

  test('writes a line as one line, whatever is in it', () => {
    const { channel: out, text } = channel()
    out.line('one\nError: two\r\nTo answer: three\u2028four', 'five')
    expect(text()).toBe('one Error: two To answer: three\\u2028four\nfive\n')
  })

  test('has colours on a terminal only, as NO_COLOR and FORCE_COLOR allow', () => {
    expect(wantsColors({ isTTY: true }, {})).toBe(true)
    expect(wantsColors({}, {})).toBe(false)
    expect(wantsColors({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
    expect(wantsColors({ isTTY: true }, { NO_COLOR: '' })).toBe(true)
    expect(wantsColors({}, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(true)
    expect(wantsColors({ isTTY: true }, { FORCE_COLOR: '0' })).toBe(false)
    expect(wantsColors({ isTTY: true }, { TERM: 'dumb' })).toBe(false)
  })
})

describe('a secret in several texts', () => {
  const secrets = new Secrets()
  for (const value of ['tok-en.123456', 'tok-tok-tok-x']) secrets.add(value)

  test.each([
    [['a tok-', 'en.123456 b'], 'a *** b'],
    [['a t', 'ok-e', 'n.12345', '6 b'], 'a *** b'],
    [Array.from('a tok-en.123456tok-en.123456 b'), 'a ****** b'],
    [['tok-tok-tok-', 'tok-x'], 'tok-***'],
    [['a tok-en', ' and tok', 'en'], 'a tok-en and token'],
    // At the end, most of a secret is as good as one, also in pieces.
    [['a tok-en.1234'], 'a ***'],
    [['a tok', '-en.', '1234'], 'a ***'],
    [['a tok-'], 'a tok-'],
  ])('%j is written as %j', (chunks, shown) => {
    const { channel: out, text } = channel(secrets)
    for (const chunk of chunks) out.write(chunk)
    out.endLine()
    expect(text().trimEnd()).toBe(shown)
  })

  test('is hidden wherever it is cut, and all else is written as it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('tok-en.123456', 'tok-', 'en.1', 'x', ' ', 't', 'tok-tok-')),
        fc.array(fc.nat(80)),
        (words, cuts) => {
          const whole = words.join('')
          const { channel: out, text } = channel(secrets)
          const at = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length]
          at.slice(1).forEach((end, index) => out.write(whole.slice(at[index], end)))
          out.write('.')
          out.endLine()
          expect(text().trimEnd()).toBe(secrets.hide(`${whole}.`))
        },
      ),
      { numRuns: samples(2_000) },
    )
  })

  test.each([1, 2, 4, 7])(
    'is hidden where it comes in more pieces than are held, of %s characters',
    (size) => {
      const long = new Secrets()
      const secret = Array.from({ length: 515 }, (_, index) => String.fromCharCode(97 + (index % 23))).join(
        '',
      )
      long.add(secret)
      const { channel: out, text } = channel(long)
      for (const piece of `begin ${secret} middle ${secret.slice(0, 400)}`.match(
        new RegExp(`.{1,${size}}`, 'g'),
      ) ?? [])
        out.write(piece)
      out.endLine()
      expect(text().trimEnd().replaceAll(/\*+/g, '***')).toBe('begin *** middle ***')
    },
  )

  test('is hidden in parts of a JSON document, and over the lines of one artifact', () => {
    const document = channel(secrets)
    document.channel.json({ parts: [{ text: 'a tok-en.' }, { id: 'x', text: '123456 b' }] })
    expect(document.text()).toBe('{"parts":[{"text":"a ***"},{"id":"x","text":" b"}]}\n')
    const { channel: out, text } = channel(secrets)
    out.jsonLine({ text: 'a tok-en.' }, 'one')
    out.jsonLine({ text: 'working' }, 'status')
    out.jsonLine({ text: 'tok-en' }, 'two')
    out.jsonLine({ text: '123456 b' }, 'one')
    expect(text()).toBe('{"text":"a ***"}\n{"text":"working"}\n')
    out.endLine()
    expect(text()).toBe('{"text":"a ***"}\n{"text":"working"}\n{"text":"tok-en"}\n{"text":" b"}\n')
  })

  test('holds a bounded number of lines, and searches a large document in linear time', () => {
    const { channel: out, text } = channel(secrets)
    for (let index = 0; index < 100; index += 1)
      out.jsonLine({ text: index === 0 ? 'tok-' : 'x' }, String(index))
    expect(text().split('\n').length).toBeGreaterThan(60)
    const parts = Array.from({ length: 100_000 }, (_, index) => ({
      text: index % 2 === 0 ? 'tok-en.' : '123456',
    }))
    const large = channel(secrets)
    large.channel.json({ parts })
    expect(large.text()).not.toContain('123456')
  })
})

test('artifacts are written as they grow, and once after a reconnect', () => {
  const out = channel()
  const progress = new Progress({ out: out.channel, err: channel().channel }, { streams: true })
  const task = { id: 't', state: 'working', artifacts: [], messages: [], metadata: {} } as const
  const chunk = (part: { text: string } | { data: number }, append: boolean): void =>
    progress.show({
      event: {
        ...{ type: 'artifact', taskId: 't', append, lastChunk: false },
        artifact: { artifactId: 'a', parts: [part] },
      },
      task: { ...task, artifacts: [], messages: [] },
      handle: { messageId: 'm' },
    })
  chunk({ text: 'one ' }, false)
  chunk({ text: 'two' }, true)
  chunk({ data: 2 }, true)
  const whole = {
    ...task,
    messages: [],
    artifacts: [{ artifactId: 'a', parts: [{ text: 'one two' }, { data: 2 }, { text: 'three' }] }],
  }
  progress.show({ event: { type: 'task', task: whole }, task: whole, handle: { messageId: 'm' } })
  // What is no text has lines of its own.
  expect(out.text()).toBe('one two\n2\nthree')
})

test('a misspelt name has a suggestion, and an unknown one has none', () => {
  const names = ['stream', 'status', 'send', 'card']
  expect(['strem', 'sned', 'crad', 'str'].map((name) => nearest(name, names))).toEqual([
    'stream',
    'send',
    'card',
    'stream',
  ])
  expect(nearest('migrate', names)).toBeUndefined()
})

test('a handle has the agent and the task, and a damaged one is refused', () => {
  const saved = { url: 'http://x', handle: { messageId: 'm', taskId: 't' }, profile: 'p' }
  const text = encodeHandle(saved)
  expect(decodeHandle(text)).toEqual(saved)
  for (const wrong of [
    '',
    text.slice(0, -9),
    `${text.slice(0, 5)}AAAA`,
    'a2a1_bnVsbA',
    'a2a1_e30',
    `a2a1_${'A'.repeat(9_000)}`,
  ]) {
    expect(() => decodeHandle(wrong)).toThrow(/handle/)
  }
})

test('profiles are where each platform has them', () => {
  expect(profilesPath({ platform: 'linux', env: {}, home: '/h' })).toBe('/h/.config/a2a-tasks/profiles.json')
  expect(profilesPath({ platform: 'darwin', env: { XDG_CONFIG_HOME: '/c' }, home: '/h' })).toBe(
    '/c/a2a-tasks/profiles.json',
  )
  expect(profilesPath({ platform: 'linux', env: { XDG_CONFIG_HOME: 'c' }, home: '/h' })).toBe(
    '/h/.config/a2a-tasks/profiles.json',
  )
  const windows = { platform: 'win32', home: 'D:\\me' }
  expect(profilesPath({ ...windows, env: { APPDATA: 'D:\\me\\x' } })).toBe(
    'D:\\me\\x\\a2a-tasks\\profiles.json',
  )
  expect(profilesPath({ ...windows, env: {} })).toBe('D:\\me\\AppData\\Roaming\\a2a-tasks\\profiles.json')
})

test.each<[string, string, string?]>([
  ['C:\\data\\tasks.db', 'sqlite'],
  ['C:/data/tasks.db', 'sqlite'],
  ['\\\\server\\share\\tasks.db', 'sqlite'],
  ['FILE:///data/my%20tasks.db', 'sqlite', '/data/my tasks.db'],
  ['tasks.db', 'sqlite', '/srv/agent/tasks.db'],
  ['POSTGRESQL://host/db', 'postgres'],
  ['rediss://host', 'redis'],
])('%s is the location of a store of %s', (text, kind, path) => {
  const { channel: out } = channel()
  const terminal = { out, err: out, secrets: new Secrets(), env: {}, cwd: '/srv/agent', isInteractive: false }
  const location = locateStore(new Arguments({}, [text]), terminal)
  expect(location.kind).toBe(kind)
  if (path !== undefined) expect(location.path).toBe(path)
})

test('a word of an agent is quoted for the shell', () => {
  expect(['plain-1', "a'; rm -rf *"].map(quoted)).toEqual(['plain-1', `'a'\\''; rm -rf *'`])
})

test('differences of cards name skills and interfaces by their ids and URLs', () => {
  const before = { name: 'A', skills: [{ id: 'one', tags: ['a'] }, { id: 'two' }] }
  const after = { name: 'B', skills: [{ id: 'three' }, { id: 'one', tags: ['b'] }] }
  expect(cardDifferences(before, after).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    ...['changed name', 'removed skills[one].tags[a]', 'added skills[one].tags[b]'],
    ...['removed skills[two]', 'added skills[three]'],
  ])
  expect(cardDifferences(before, structuredClone(before))).toEqual([])
})

/** Texts, cards, profiles and handles of the command line, without a process. */
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
import { Channel, Secrets } from '../../src/command-line/terminal/terminal.js'
import { HOSTILE } from './support/agents.js'

function channel(secrets = new Secrets(), hasColors = false): { channel: Channel; text: () => string } {
  let text = ''
  return { channel: new Channel({ write: (more) => (text += more) }, secrets, hasColors), text: () => text }
}

describe('a text of an agent', () => {
  test.each<[string, string]>([
    ['\x1b]52;c;aGk=\x07', '\\x1b]52;c;aGk=\\x07'],
    ['\x9b2J', '\\x9b2J'],
    ['a\rb\x08c\x7f', 'a\\x0db\\x08c\\x7f'],
    ['\u202egnp.exe\u2066', '\\u202egnp.exe\\u2066'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['a\tb\r\nc', 'a\tb\nc'],
    ['naïve 日本語 👩‍🚀 עברית', 'naïve 日本語 👩‍🚀 עברית'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('on a line has no line ends, and a bounded length', () => {
    expect(printableLine('one\n two\t\tthree')).toBe('one two three')
    expect(printableLine('👩'.repeat(1_000_000), 3)).toBe('👩👩…')
  })

  test('in JSON is the same value', () => {
    const value = { [HOSTILE]: `${HOSTILE}\u{e0041}\ud800` }
    expect(printableJson(value, 2)).not.toMatch(/[\x1b\x9b\u202e]|\u{e0041}/u)
    expect(JSON.parse(printableJson(value, 2))).toEqual(value)
  })
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
    out.line(bold('title'), '\x1b[31mred')
    expect(text()).toBe('\x1b[1mtitle\x1b[0m\n\\x1b[31mred\n')
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

test('artifacts are written as they grow, and once after a reconnect', () => {
  const out = channel()
  const progress = new Progress({ out: out.channel, err: channel().channel }, { streams: true })
  const task = { id: 't', state: 'working', artifacts: [], messages: [], metadata: {} } as const
  const chunk = (text: string, append: boolean): void =>
    progress.show({
      event: {
        ...{ type: 'artifact', taskId: 't', append, lastChunk: false },
        artifact: { artifactId: 'a', parts: [{ text }] },
      },
      task: { ...task, artifacts: [], messages: [] },
      handle: { messageId: 'm' },
    })
  chunk('one ', false)
  chunk('two ', true)
  const whole = {
    ...task,
    messages: [],
    artifacts: [{ artifactId: 'a', parts: [{ text: 'one two three' }] }],
  }
  progress.show({ event: { type: 'task', task: whole }, task: whole, handle: { messageId: 'm' } })
  expect(out.text()).toBe('one two three')
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

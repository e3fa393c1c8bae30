/** The tables of the guide about remote agents: each row is held by tests with the real frameworks. */
import { expect, test } from 'vitest'
import { read } from '../../support/repository.js'

const AI = 'test/frameworks/ai/agent-tool.test.ts'
const OPENAI = 'test/frameworks/openai-agents/agent-tool.test.ts'
const LANGCHAIN = 'test/frameworks/langchain/agent-tool.test.ts'
const CORE = 'test/ai/agent/agent-tool.test.ts'
const MODEL = 'test/frameworks/ai/agent-model.test.ts'

/** By the beginning of a row: the titles of tests, by their files. */
const TOOL: Record<string, Readonly<Record<string, string>>> = {
  'name, description and skills': {
    [AI]: 'the model reads what the skill does, and what the agent returns',
    [OPENAI]: 'the model reads what the agent does, and what it returns',
    [LANGCHAIN]: 'a model reads what the agent does',
  },
  'what it says while it works': {
    [AI]: 'what the agent says while it works is preliminary',
    [LANGCHAIN]: 'what the agent says while it works are events of the tool',
    [CORE]: 'progress has at most its last 2,000 characters',
  },
  'the text of the result': {
    [AI]: 'the model reads what the skill does, and what the agent returns',
    [OPENAI]: 'the model reads what the agent does, and what it returns',
    [LANGCHAIN]: 'a model calls the agent',
    [CORE]: 'a result has at most maxBytes',
  },
  data: { [AI]: 'the model sees files and data' },
  'files with bytes': {
    [AI]: 'the model sees files and data',
    [OPENAI]: 'the model sees images and files',
    [LANGCHAIN]: 'the model sees files',
  },
  'files with a URL': { [AI]: 'the model sees files and data' },
  'a question': {
    [AI]: 'the model answers a question of the agent by a second call',
    [OPENAI]: 'the model answers a question of the agent by a second call',
    [LANGCHAIN]: 'the model answers a question of the agent by a second call',
  },
  'a task that fails or is rejected, an agent that cannot be reached': {
    [AI]: 'an agent that cannot be reached is an error of the tool',
    [OPENAI]: 'the reason of an agent that fails goes to the model',
    [LANGCHAIN]: 'an agent that fails throws its reason',
  },
  'an abort by the framework': {
    [AI]: 'an abort cancels the task of the agent',
    [OPENAI]: 'an abort of the run cancels the task of the agent',
    [LANGCHAIN]: 'an abort cancels the task of the agent',
  },
}

const REPORTS = 'gets reasoning, calls of tools, sources, the finish reason and the usage'
const MODEL_ROWS: Record<string, readonly string[]> = {
  "the user's messages since the last answer": [
    'files of the user reach the agent',
    'the next message continues the conversation',
  ],
  'instructions, tools and settings': ['what an agent cannot use is a warning'],
  '`text-start`': [
    'gets texts, files and data of the agent',
    'a text streams as it comes, and what replaces it is a text of its own',
    'a status message is the answer if there is no other one',
  ],
  '`reasoning-start`': [REPORTS],
  '`file`': ['gets texts, files and data of the agent'],
  '`tool-call`': [REPORTS],
  '`source`': [REPORTS, 'gets files with a URL as sources and texts, and downloads none'],
  '`finish`: the reason': [REPORTS, 'a question ends the answer, and the next message answers it'],
  '`finish`: the usage': [REPORTS, 'a question ends the answer, and the next message answers it'],
  'an error': ['an agent that fails is an error'],
  'an abort': ['an abort cancels the task of the agent'],
}

test('each row of the table of tools has its tests', () => {
  expectRows('of the agent', Object.keys(TOOL))
  for (const titles of Object.values(TOOL)) {
    for (const [file, title] of Object.entries(titles)) expect(read(file)).toContain(`'${title}`)
  }
})

test('each row of the table of models has its tests', () => {
  expectRows('of AI SDK', Object.keys(MODEL_ROWS))
  for (const title of Object.values(MODEL_ROWS).flat()) expect(read(MODEL)).toContain(`'${title}'`)
})

/** The rows of the table with this first heading begin with these texts. */
function expectRows(heading: string, starts: readonly string[]): void {
  const page = read('docs/guides/agent-as-tool.md')
  const [, table = ''] = page.split(`| ${heading} |`)
  const lines = table.split('\n').slice(2)
  const rows = lines.slice(0, lines.findIndex((line) => !line.startsWith('|')) >>> 0)
  expect(rows).toHaveLength(starts.length)
  expect(rows.map((row, at) => row.startsWith(`| ${starts[at] ?? ''}`))).toEqual(starts.map(() => true))
}

/** The API reference is what the docstrings say now: every export of every entry, on the page of one of them. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { apiReference } from '../../.config/api-reference.js'
import { ROOT } from '../support/repository.js'

const pages = [...apiReference(ROOT)]

it.each(pages)('%s is current', (page, text) => {
  const written = existsSync(ROOT + page) ? readFileSync(ROOT + page, 'utf8') : ''
  expect(written === text, 'Run npm run docs').toBe(true)
})

it('shows declarations and contracts, and nothing that is private', () => {
  const text = pages.map(([, page]) => page).join('\n')
  expect(text).toContain('## TaskManager\n')
  expect(text).toContain('  createTask(params: CreateTaskParams): Task<S>\n')
  expect(text).toMatch(/^Throws `.*` /m)
  expect(text).not.toMatch(/^ +(?:async |private |protected |#)/m)
})

it('shows the types that options extend, once, although no entry exports them', () => {
  const text = pages.map(([, page]) => page).join('\n')
  expect(text.split('### NotificationChecks\n')).toHaveLength(2)
  expect(text).toContain('  readonly maxBytes?: number | undefined\n')
  expect(text.split('### TaskReader\n')).toHaveLength(2)
  expect(text).not.toMatch(/^### (?:const|unknown|Promise)$/m)
})

it('shows the type of each constant, of each member of a class, and of the values of each schema', () => {
  const sections = pages.flatMap(([, page]) => page.split(/^## /m).slice(1))
  const [names, bare] = [/^.*/, /^```ts$/m]
  expect(
    sections.filter((section) => !bare.test(section)).map((section) => names.exec(section)?.[0]),
  ).toEqual([])
  const text = sections.join('\n')
  expect(text).not.toMatch(/^ {2}readonly [^\s:]+$/m)
  expect(text).toContain('const MAX_TASKS: 1000\n')
  expect(text).toContain('const MessageSchema: z.ZodMiniType<Message>\n')
  expect(text).toMatch(/^type Message = \{\n {2}messageId: string;\n {2}role: Role;\n {2}parts: Part\[\];\n/m)
  expect(text).toContain('type SendMessageResponse = { message: Message; } | { task: Task; }\n')
  expect(text).not.toContain('z.infer<typeof')
})

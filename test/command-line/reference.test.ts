/** The help of each command, and the page of the reference: both have every command, option and exit code. */
import { describe, expect, test } from 'vitest'
import { EXIT } from '../../src/command-line/exit-codes.js'
import { commandHelp, programHelp } from '../../src/command-line/help.js'
import { COMMANDS } from '../../src/command-line/program.js'
import { read } from '../support/repository.js'

const PAGE = read('docs/reference/command-line.md')

describe.each(COMMANDS.map((entry) => [entry.name, entry] as const))('%s', (name, entry) => {
  test('has help with an example, and a summary that is that of the program', async () => {
    const command = await entry.load()
    expect({ name: command.name, summary: command.summary }).toEqual({
      name,
      summary: entry.summary,
    })
    const examples = commandHelp(command).split('Examples')[1] ?? ''
    expect(examples).toContain(`a2a-tasks ${name}`)
    expect(programHelp(COMMANDS)).toContain(`  ${name} `)
  })

  test('is in the reference, with its options', async () => {
    const { options } = await entry.load()
    expect(PAGE).toMatch(new RegExp(`^\\| \`${name} `, 'm'))
    const missing = Object.keys(options).filter((option) => !new RegExp(`\`--${option}[ \`]`).test(PAGE))
    expect(missing).toEqual([])
  })
})

test('the reference has every exit code', () => {
  const section = PAGE.split('## Exit codes')[1]?.split('\n## ')[0] ?? ''
  const listed = [...section.matchAll(/^\| (\d+)/gm)].map(([, code]) => Number(code))
  expect(listed).toEqual(Object.values(EXIT))
})

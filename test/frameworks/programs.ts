/**
 * The programs of a framework's page.
 *
 * @module
 */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { typeFaultsOf } from '../support/type-faults.js'
import { isPrinted, programsOf, type Program } from '../support/markdown.js'
import { read } from '../support/repository.js'
import { MODULES } from './installed.js'

interface Page {
  readonly page: string
  /** The mark of its programs. */
  readonly mark: string
  /** Packages and scopes of this folder that they import. */
  readonly packages: readonly string[]
  /** Other uses, as a program, whose types have to be right. */
  readonly uses: string
}

/** Tests that they have right types, against the built declarations and the real package, and print what they say. */
export function testPrograms({ page, mark, packages, uses }: Page): void {
  const consumer = new Consumer()
  consumer.install('eventemitter3', 'libsql', '@types/node')
  for (const name of ['zod', ...packages]) {
    const link = `${consumer.folder}/node_modules/${name}`
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(`${MODULES}${name}`, link, 'junction')
  }
  afterAll(() => {
    consumer.remove()
  })
  const programs = programsOf(page, read(page), mark)

  test('the programs of the page, and other uses, have right types', { timeout: 240_000 }, () => {
    const files = programs.map((program, at) => consumer.write(fileOf(program, at), program.code))
    expect(files).not.toEqual([])
    expect(typeFaultsOf(consumer, [...files, consumer.write('uses.ts', uses)])).toEqual([])
  })

  test('the programs of the page print what they say', { timeout: 90_000 }, async () => {
    // As JavaScript under the names that the others import, which needs no loader.
    programs.forEach((program, at) => {
      consumer.write(fileOf(program, at), program.code)
      const compiled = consumer.compile(fileOf(program, at))
      renameSync(compiled, compiled.replace(/\.mjs$/, '.js'))
    })
    for (const [at, program] of programs.entries()) {
      if (program.output === undefined) continue
      const printed = await consumer.run(fileOf(program, at), { OPENAI_API_KEY: '' })
      if (!isPrinted(printed, program.output)) expect(printed).toBe(program.output)
    }
    expect(programs.some(({ output }) => output !== undefined)).toBe(true)
  })
}

/** A first line such as `// agent.js` is the name by which the others import it. */
function fileOf({ code, language }: Program, at: number): string {
  const [, name = `program-${at}`] = /^\/\/ ([a-z-]+)\.js\n/.exec(code) ?? []
  return `${name}.${language}`
}

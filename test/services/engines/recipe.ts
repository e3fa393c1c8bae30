/**
 * The recipes of the page about queues, loaded as they stand there.
 *
 * @module
 */
import { transform } from 'esbuild'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Turn } from '../../../src/server/index.js'
import { read } from '../../support/repository.js'

/** Where the packages of these tests are found. */
const FOLDER = fileURLToPath(new URL('../node_modules/.cache/a2a-tasks-recipes/', import.meta.url))

export interface Recipe {
  readonly dispatch: (turn: Turn) => unknown
  readonly consume: (run: (turn: Turn) => Promise<void>) => Promise<() => Promise<unknown>>
  readonly close: () => Promise<unknown>
}

let count = 0

/** Writes the recipe under this heading to a file that Node can import, and resolves to its name. */
export async function recipeFile(heading: string): Promise<string> {
  const [, section = ''] = read('docs/guides/queues.md').split(`\n## ${heading}\n`)
  const [, code] = /^\s*```ts\n(\/\/ turns\.ts\n.*?)```/s.exec(section) ?? []
  if (code === undefined) throw new Error(`docs/guides/queues.md has no recipe for ${heading}`)
  const { code: plain } = await transform(code, { loader: 'ts', format: 'esm', target: 'node20' })
  await mkdir(FOLDER, { recursive: true })
  count += 1
  const file = `${FOLDER}${heading.replace(/\W+/g, '-')}-${process.pid}-${count}.mjs`
  await writeFile(file, plain)
  return file
}

/** Loads the recipe anew, with its own connection to the server that the variable names. */
export async function loadRecipe(heading: string, variable: string, url: string): Promise<Recipe> {
  const file = await recipeFile(heading)
  process.env[variable] = url
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Recipe
}

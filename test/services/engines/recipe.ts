/**
 * The recipes of the pages about queues and engines, loaded as they stand there.
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

const PAGES = ['docs/guides/queues.md', 'docs/guides/engines.md']

export interface Recipe {
  readonly dispatch: (turn: Turn) => unknown
  readonly consume: (run: (turn: Turn) => Promise<void>) => Promise<() => Promise<unknown>>
  readonly close: () => Promise<unknown>
}

let count = 0

/** The block of code under this heading that begins with the name of its file. */
export function codeOf(heading: string, name: string): string {
  const section = PAGES.flatMap((page) => read(page).split('\n## ')).find((text) =>
    text.startsWith(`${heading}\n`),
  )
  const block = section?.split('```').find((text) => text.startsWith(`ts\n// ${name}\n`))
  if (block === undefined) throw new Error(`${PAGES.join(' and ')} have no ${name} for ${heading}`)
  return block.slice('ts\n'.length)
}

/** Writes the recipe under this heading to a file that Node can import, and resolves to its name. */
export async function recipeFile(heading: string): Promise<string> {
  const code = codeOf(heading, 'turns.ts')
  const { code: plain } = await transform(code, { loader: 'ts', format: 'esm', target: 'node20' })
  await mkdir(FOLDER, { recursive: true })
  count += 1
  const file = `${FOLDER}${heading.replace(/\W+/g, '-')}-${process.pid}-${count}.mjs`
  await writeFile(file, plain)
  return file
}

/**
 * Loads the recipe anew, with its own connection to the server that these variables name.
 *
 * @typeParam R - What it exports.
 */
export async function loadRecipe<R = Recipe>(
  heading: string,
  env: Readonly<Record<string, string>>,
): Promise<R> {
  const file = await recipeFile(heading)
  Object.assign(process.env, env)
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as R
}

/** The page of the inspector: its script and style in one module, which a server sends as they are. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { build } from 'esbuild'

export const ASSET = 'src/inspector/page-asset.ts'

/** The text of the module at {@link ASSET}, from the sources of the page. */
export async function pageAsset(root: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/inspector/page/main.ts'), join(root, 'src/inspector/page/style.css')],
    outdir: 'out',
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  })
  const textOf = (end: string): string =>
    (outputFiles.find(({ path }) => path.endsWith(end))?.text ?? '').trim()
  const script = inScript(textOf('.js'))
  const style = textOf('.css')
  return `/**
 * The script and the style of the page, made of \`page/\` by \`npm run page\`.
 *
 * @module
 */
export const SCRIPT = ${JSON.stringify(script)}
export const SCRIPT_HASH = '${hashOf(script)}'
export const STYLE = ${JSON.stringify(style)}
export const STYLE_HASH = '${hashOf(style)}'
`
}

/** A script that contains no end of its element. */
function inScript(text: string): string {
  return text.replace(/<(?=\/script|!--)/gi, '\\x3C')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

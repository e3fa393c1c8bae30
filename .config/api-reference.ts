/**
 * The reference of all exports, as Markdown: one page per entry, made of the declarations and docstrings in `src/`.
 *
 * `npm run docs` writes the pages. A test compares them with the sources.
 */
import { dirname, relative } from 'node:path/posix'
import ts from 'typescript'
import { ENTRIES } from './entries.js'

const FOLDER = 'docs/reference/api'

interface Entry {
  readonly file: string
  readonly specifier: string
  readonly page: string
}

/** An export, documented on the page of the first entry that has it. */
interface Export {
  readonly name: string
  readonly declarations: readonly ts.Declaration[]
}

/** All pages, by their path from the root, which ends with a slash. */
export function apiReference(root: string): Map<string, string> {
  const { options } = ts.parseJsonConfigFileContent(
    {
      compilerOptions: {
        target: 'ES2022',
        exactOptionalPropertyTypes: true,
        module: 'ESNext',
        moduleResolution: 'bundler',
        types: [],
      },
    },
    ts.sys,
    root,
  )
  const all = ENTRIES.map((name) => entryOf(`src/${name}.ts`))
  const program = ts.createProgram(
    all.map(({ file }) => root + file),
    options,
  )
  const checker = program.getTypeChecker()
  const symbols = all.flatMap(({ file }) => {
    const source = program.getSourceFile(root + file)
    const module = source && checker.getSymbolAtLocation(source)
    return module ? checker.getExportsOfModule(module).map((one) => targetOf(one, checker)) : []
  })
  const documented = new Set(symbols)
  const homes = new Map<string, Entry>()
  const pages = new Map<string, string>()
  const rows: string[] = []
  for (const entry of all) {
    const source = program.getSourceFile(root + entry.file)
    const module = source && checker.getSymbolAtLocation(source)
    if (source === undefined || module === undefined) throw new Error(`${entry.file} exports nothing`)
    const exported = checker.getExportsOfModule(module).map((symbol) => exportOf(symbol, checker))
    const here = exported.filter(({ name }) => !homes.has(keyOf(name, exported, root)))
    for (const { name } of here) homes.set(keyOf(name, exported, root), entry)
    const elsewhere = exported
      .filter((one) => !here.includes(one))
      .map((one) => ({ name: one.name, home: homes.get(keyOf(one.name, exported, root)) }))
    const about = headerOf(source.text)
    pages.set(entry.page, pageOf(entry, about, here, elsewhere, checker, documented))
    rows.push(`| [\`${entry.specifier}\`](${relative(FOLDER, entry.page)}) | ${firstSentence(about)} |`)
  }
  pages.set(`${FOLDER}/README.md`, indexOf(rows))
  return pages
}

function entryOf(file: string): Entry {
  const path = dirname(file).replace(/^src\/?/, '')
  const specifier = path === '' ? 'a2a-tasks' : `a2a-tasks/${path}`
  return { file, specifier, page: `${FOLDER}/${path === '' ? 'a2a-tasks' : path.replaceAll('/', '-')}.md` }
}

function exportOf(symbol: ts.Symbol, checker: ts.TypeChecker): Export {
  return { name: symbol.name, declarations: targetOf(symbol, checker).declarations ?? [] }
}

function targetOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** Two entries share an export if they export the same declaration by the same name. */
function keyOf(name: string, exported: readonly Export[], root: string): string {
  const [declaration] = exported.find((one) => one.name === name)?.declarations ?? []
  return `${name} ${declaration ? relative(root, declaration.getSourceFile().fileName) : ''}`
}

function pageOf(
  entry: Entry,
  about: string,
  here: readonly Export[],
  elsewhere: readonly { readonly name: string; readonly home: Entry | undefined }[],
  checker: ts.TypeChecker,
  documented: Set<ts.Symbol>,
): string {
  const sections = [...here].sort(byName).map((one) => sectionOf(one, checker, here))
  const hidden = unexportedIn(here, checker, documented).sort(byName)
  if (hidden.length > 0) sections.push(...UNEXPORTED)
  sections.push(...hidden.map((one) => sectionOf(one, checker, here, '###')))
  const again = elsewhere.map(({ name, home }) => {
    return `[\`${name}\`](${home ? relative(FOLDER, home.page) : ''}#${name.toLowerCase()})`
  })
  const others = again.length > 0 ? [`Also exported: ${again.join(', ')}.`] : []
  return `${[`# ${entry.specifier}`, GENERATED, about, ...others, ...sections].join('\n\n')}\n`
}

const LINK = /\{@link (?:[^}|]*\| ?)?([^}]+)\}/g

/** In characters: an inferred type that is longer would hide what follows it. */
const LONGEST_TYPE = 1200

const UNEXPORTED = [
  '## Types without an export',
  'Declarations name these types. You cannot import them. Each is on the page of the first entry that needs it.',
]

const GENERATED = '<!-- Written by `npm run docs` from the docstrings in src/. -->'

function indexOf(rows: readonly string[]): string {
  const table = ['| import | contents |', '| --- | --- |', ...rows].join('\n')
  const about = [
    'Find an export on the page of the entry that you import it from.',
    'Each page has the declarations, with units, defaults and errors.',
  ].join(' ')
  return `${['# API reference', GENERATED, about, table].join('\n\n')}\n`
}

/** Classes and functions first, as people look these up by name; then all others, each by its name. */
function byName(a: Export, b: Export): number {
  const rank = ({ declarations: [one] }: Export): number =>
    one && (ts.isClassDeclaration(one) || ts.isFunctionDeclaration(one)) ? 0 : 1
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
}

function sectionOf(
  { name, declarations }: Export,
  checker: ts.TypeChecker,
  all: readonly Export[],
  level = '##',
): string {
  const parts = [`${level} ${name}`]
  const documented = declarations.map((one) => docsOf(one)).filter((text) => text !== '')
  const code = declarations.map((one) => codeOf(one, checker, all)).filter((text) => text !== '')
  parts.push(...documented)
  if (code.length > 0) parts.push(`\`\`\`ts\n${code.join('\n').replace(LINK, '`$1`')}\n\`\`\``)
  return parts.join('\n\n')
}

/**
 * The types of this package that declarations name and that no entry exports, such as those that options extend. Adds them
 * to `documented`, so that each is on one page.
 */
function unexportedIn(all: readonly Export[], checker: ts.TypeChecker, documented: Set<ts.Symbol>): Export[] {
  const found: Export[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || (ts.isClassElement(node) && !isPublic(node))) return
    if (ts.isTypeAliasDeclaration(node) && INFERRED.test(node.type.getText())) return
    ts.forEachChild(node, visit)
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node) && node.expression
    const symbol = name && checker.getSymbolAtLocation(name)
    if (!symbol) return
    const target = targetOf(symbol, checker)
    const { declarations = [] } = target
    if (documented.has(target) || !declarations.some(isOwnType)) return
    documented.add(target)
    found.push({ name: target.name, declarations })
    declarations.forEach(visit)
  }
  for (const { declarations } of all) declarations.forEach(visit)
  return found
}

function isOwnType(declaration: ts.Declaration): boolean {
  const isType = ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration)
  return isType && !declaration.getSourceFile().fileName.includes('/node_modules/')
}

function docsOf(declaration: ts.Declaration): string {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  const [comment] = ts.getJSDocCommentsAndTags(node).filter((one) => ts.isJSDoc(one))
  return comment ? markdownOf(comment.getText()) : ''
}

/** The text of a docstring: its description, then each tag as a paragraph. */
function markdownOf(comment: string): string {
  const text = comment
    .replace(/^\/\*\*[ \n]?|\s*\*\/$/g, '')
    .replace(/^[ \t]*\* ?/gm, '')
    .replace(LINK, '`$1`')
  const [description = '', ...tags] = text.split(/^@/m)
  return [description, ...tags.map(paragraphOf)]
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n')
}

function paragraphOf(tag: string): string {
  const [, name = '', text = ''] = /^(\w+)\s*([^]*)$/.exec(tag) ?? []
  if (name === 'throws') return `Throws ${text.replace(/^\{([^}]+)\} ?/, '`$1` ').replace(/\n */g, '\n')}`
  if (name === 'param') return text.replace(/^(\w+)\s+/, '`$1`: ')
  if (name === 'returns') return `Returns ${text.replace(/^(?:An?|The)\b/, (word) => word.toLowerCase())}`
  if (name === 'see') return `See ${text}`
  if (name === 'example') return text.startsWith('```') ? text : `\`\`\`ts\n${text.trim()}\n\`\`\``
  return name === 'module' || name === 'internal' ? '' : `\`@${name}\` ${text}`
}

function headerOf(text: string): string {
  const [comment = ''] = /^\/\*\*[^]*?\*\//.exec(text) ?? []
  return markdownOf(comment)
}

function firstSentence(text: string): string {
  const [sentence = text] = /^[^]*?[.:](?=\s|$)/.exec(text) ?? []
  return sentence.replace(/\s+/g, ' ').replace(/:$/, '.').replaceAll('|', '\\|')
}

/** The declaration as written, without bodies, values and what is private. */
function codeOf(declaration: ts.Declaration, checker: ts.TypeChecker, all: readonly Export[]): string {
  if (ts.isClassDeclaration(declaration)) return classOf(declaration, checker)
  if (ts.isFunctionDeclaration(declaration)) return isImplementation(declaration) ? '' : headOf(declaration)
  if (ts.isVariableDeclaration(declaration)) {
    const name = declaration.name.getText()
    // A schema has the type of its values, which is exported beside it.
    const values = all.find((one) => name === `${one.name}Schema`)
    return `const ${name}: ${values ? `z.ZodMiniType<${values.name}>` : typeOf(declaration, checker)}`
  }
  if (ts.isTypeAliasDeclaration(declaration)) return aliasOf(declaration, checker, all)
  if (ts.isInterfaceDeclaration(declaration)) {
    return declaration.getText().replace(/^export (?:declare )?/, '')
  }
  return ''
}

/** The type as written, else as inferred. */
function typeOf(
  declaration: ts.VariableDeclaration | ts.PropertyDeclaration,
  checker: ts.TypeChecker,
): string {
  if (declaration.type) return declaration.type.getText()
  const text = textOf(checker.getTypeAtLocation(declaration.name), checker)
  return text.length <= LONGEST_TYPE ? linesOf(text) : '{ … }'
}

/** The type of the values of a schema. */
const INFERRED = /^Infer<\s*typeof \w+\s*>$/

/** An inferred type by its members. Types of the same kind in it have their names. A long type stays as written. */
function aliasOf(
  declaration: ts.TypeAliasDeclaration,
  checker: ts.TypeChecker,
  all: readonly Export[],
): string {
  const written = declaration.getText().replace(/^export (?:declare )?/, '')
  if (!INFERRED.test(declaration.type.getText())) return written
  const type = checker.getTypeAtLocation(declaration.name)
  const text = textOf(type, checker)
  const others = all
    .flatMap(({ declarations }) => declarations)
    .filter((one) => ts.isTypeAliasDeclaration(one))
    .filter((one) => one !== declaration && INFERRED.test(one.type.getText()))
    .map((one) => ({ name: one.name.text, text: textOf(checker.getTypeAtLocation(one.name), checker) }))
    .filter((one) => one.text.length > SHORTEST_NAMED && one.text.length < text.length)
    .sort((a, b) => b.text.length - a.text.length)
  const named = others.reduce(
    (named, one) => named.replaceAll(`(${one.text})[]`, `${one.name}[]`).replaceAll(one.text, one.name),
    alternativesOf(type, checker) ?? text,
  )
  return named.length <= LONGEST_TYPE ? `type ${declaration.name.text} = ${linesOf(named)}` : written
}

/** In characters: unions as short as `string | null` have no name of their own. */
const SHORTEST_NAMED = 24

/** The alternatives of a oneof, without the members that each must not have. */
function alternativesOf(type: ts.Type, checker: ts.TypeChecker): string | undefined {
  const isOneof = type.isUnion() && type.types.every(({ flags }) => flags & ts.TypeFlags.Object)
  if (!isOneof) return undefined
  const alternatives = type.types.map((one) => {
    const members = checker.getPropertiesOfType(one).flatMap((member) => {
      const value = checker.getTypeOfSymbol(member)
      if (value.flags & (ts.TypeFlags.Never | ts.TypeFlags.Undefined)) return []
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0
      const text = textOf(value, checker)
      return [`${member.name}${isOptional ? `?: ${text.replace(/ \| undefined$/, '')}` : `: ${text}`}; `]
    })
    return `{ ${members.join('')}}`
  })
  return alternatives.join(' | ')
}

function textOf(type: ts.Type, checker: ts.TypeChecker): string {
  const { NoTruncation, InTypeAlias, UseSingleQuotesForStringLiteralType } = ts.TypeFormatFlags
  return checker.typeToString(
    type,
    undefined,
    NoTruncation | InTypeAlias | UseSingleQuotesForStringLiteralType,
  )
}

/** Writes each member of an object type on its own line. */
function linesOf(text: string): string {
  if (!text.startsWith('{') || text.length <= 100) return text
  let depth = 0
  let lines = ''
  for (const part of text.split(/(?<=[{;] )|(?=\})/)) {
    if (part.startsWith('}')) depth -= 1
    lines += `${part.startsWith('}') || lines.endsWith('\n') ? '  '.repeat(depth) : ''}${part.trimEnd()}\n`
    if (part.endsWith('{ ')) depth += 1
  }
  return lines.trimEnd()
}

/** A function that has overloads is declared by these. */
function isImplementation(declaration: ts.FunctionDeclaration | ts.MethodDeclaration): boolean {
  const { parent, name } = declaration
  const siblings: readonly ts.Node[] = ts.isSourceFile(parent)
    ? parent.statements
    : ts.isClassLike(parent)
      ? parent.members
      : []
  const isOverload = (node: ts.Node): boolean =>
    (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) &&
    node.body === undefined &&
    node.name?.getText() === name?.getText()
  return declaration.body !== undefined && siblings.some(isOverload)
}

/** The text of a function or a method up to its body. */
function headOf(node: ts.FunctionLikeDeclaration): string {
  const end = node.body ? node.body.getStart() : node.end
  return node
    .getSourceFile()
    .text.slice(node.getStart(), end)
    .replace(/^(?:export |default |async )+/, '')
    .replace(/\basync \*?(?=[\w[])/, '')
    .trimEnd()
}

function classOf(declaration: ts.ClassDeclaration, checker: ts.TypeChecker): string {
  const heritage = (declaration.heritageClauses ?? []).map((clause) => ` ${clause.getText()}`).join('')
  const parameters = declaration.typeParameters?.map((one) => one.getText()).join(', ')
  const head = `class ${declaration.name?.text ?? ''}${parameters ? `<${parameters}>` : ''}${heritage}`
  const members = [...declaration.members, ...inheritedBy(declaration, checker)].filter(isPublic)
  return `${head} {\n${members.map((one) => memberOf(one, checker)).join('\n\n')}\n}`
}

/** The members of a base class of this package, which is not exported itself. */
function inheritedBy(declaration: ts.ClassDeclaration, checker: ts.TypeChecker): readonly ts.ClassElement[] {
  const base = declaration.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
    ?.types[0]
  const parent = base && checker.getTypeAtLocation(base.expression).symbol.valueDeclaration
  if (parent === undefined || !ts.isClassDeclaration(parent)) return []
  if (parent.getSourceFile().fileName.includes('/node_modules/')) return []
  const isNew = (one: ts.ClassElement): boolean =>
    one.name !== undefined && !declaration.members.some(({ name }) => name?.getText() === one.name?.getText())
  return [...parent.members.filter(isNew), ...inheritedBy(parent, checker)]
}

function isPublic(member: ts.ClassElement): boolean {
  if (ts.isClassStaticBlockDeclaration(member)) return false
  if (member.name && ts.isPrivateIdentifier(member.name)) return false
  if (member.name && /^\[(?!Symbol\.)/.test(member.name.getText())) return false
  if (ts.isMethodDeclaration(member) && isImplementation(member)) return false
  if (ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal')) return false
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
  return (ts.getCombinedModifierFlags(member) & hidden) === 0
}

function memberOf(member: ts.ClassElement, checker: ts.TypeChecker): string {
  const [comment] = ts.getJSDocCommentsAndTags(member).filter((one) => ts.isJSDoc(one))
  const text = ts.isPropertyDeclaration(member)
    ? propertyOf(member, checker)
    : headOf(member as ts.MethodDeclaration)
  return `${comment ? `  ${comment.getText()}\n` : ''}  ${text.replace(/^override /, '')}`
}

/** The property without its value, which is the type of a property that has none. */
function propertyOf(member: ts.PropertyDeclaration, checker: ts.TypeChecker): string {
  const head = member.getText().replace(/ =[^>][^]*$/, '')
  return member.type ? head : `${head}: ${typeOf(member, checker)}`
}

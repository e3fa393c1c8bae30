/**
 * The parameters of public functions that are options, found by the type checker.
 *
 * @module
 */
import ts from 'typescript'
import { ROOT } from './repository.js'
import { entriesProgram } from './source.js'

/** A parameter that takes an object of which some or all properties are optional. */
export interface OptionParameter {
  /** The function and the position: `TaskManager.cancelTask(1)`, `new TaskManager(0)`, `A2AClient.connect(1)`. */
  readonly key: string
  /** The names of its object types, such as `CancelOptions`. `{}` for a type without a name of ours. */
  readonly types: readonly string[]
  /** Its properties that are options too: `limits`. */
  readonly groups: readonly string[]
}

/**
 * Walks from the exports of all entries to everything that the library implements: exported functions, the methods of
 * exported classes and constants, and the methods of what all these return or pass to a callback, such as a run. What a user
 * passes in is the user's, so its methods are left out.
 */
export function optionParameters(): OptionParameter[] {
  const program = entriesProgram()
  const walk = new Walk(program.getTypeChecker())
  for (const file of program.getRootFileNames()) walk.visitEntry(program.getSourceFile(file))
  return [...walk.found.values()]
}

/** Who implements a type: the library, or its user. */
type Side = 'library' | 'user'

class Walk {
  readonly found = new Map<string, OptionParameter>()
  readonly #checker: ts.TypeChecker
  readonly #seen: Record<Side, Set<ts.Type>> = { library: new Set(), user: new Set() }

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  visitEntry(source: ts.SourceFile | undefined): void {
    const module = source && this.#checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error('An entry exports nothing')
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const isAlias = Boolean(exported.flags & ts.SymbolFlags.Alias)
      const symbol = isAlias ? this.#checker.getAliasedSymbol(exported) : exported
      if (symbol.flags & ts.SymbolFlags.Value) this.#visitValue(symbol)
    }
  }

  #visitValue(symbol: ts.Symbol): void {
    const type = this.#checker.getTypeOfSymbol(symbol)
    for (const signature of type.getConstructSignatures())
      this.#visitSignature(signature, `new ${symbol.name}`, 'library')
    const isClass = Boolean(symbol.flags & ts.SymbolFlags.Class)
    if (isClass) this.#visitMembers(type, symbol.name, 'library')
    for (const signature of type.getCallSignatures()) this.#visitSignature(signature, symbol.name, 'library')
    this.#visitType(isClass ? this.#checker.getDeclaredTypeOfSymbol(symbol) : type, symbol.name, 'library')
  }

  #visitType(type: ts.Type, path: string, side: Side): void {
    if (this.#seen[side].has(type)) return
    this.#seen[side].add(type)
    for (const part of this.#partsOf(type)) this.#visitType(part, path, side)
    // The library has implemented its classes, whoever passes an instance.
    const isOfUser = side === 'user' && type.isClass()
    if (!(type.flags & ts.TypeFlags.Object) || !isOurs(type.symbol) || isOfUser) return
    const name = nameOf(type)
    for (const signature of type.getCallSignatures()) this.#visitSignature(signature, path, side)
    this.#visitMembers(type, name === '{}' ? path : name, side)
  }

  /** The members of a union, the arguments of a generic type, and the constraint of a parameter. */
  #partsOf(type: ts.Type): readonly ts.Type[] {
    if (type.isUnionOrIntersection()) return type.types
    const constraint = type.isTypeParameter() ? this.#checker.getBaseConstraintOfType(type) : undefined
    if (constraint !== undefined) return [constraint]
    return isReference(type) ? this.#checker.getTypeArguments(type) : []
  }

  #visitMembers(type: ts.Type, owner: string, side: Side): void {
    for (const member of type.getProperties()) {
      const isInternal = member.getJsDocTags().some(({ name }) => name === 'internal')
      if (member.name.startsWith('#') || member.name === 'prototype' || isInternal || !isOurs(member))
        continue
      const memberType = this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(member))
      const path = `${owner}.${member.name}`
      for (const signature of memberType.getCallSignatures()) this.#visitSignature(signature, path, side)
      this.#visitType(memberType, path, side)
    }
  }

  #visitSignature(signature: ts.Signature, path: string, side: Side): void {
    // Those that the type checker makes have none: the constructor of a class that has none.
    const declaration = signature.declaration as ts.Declaration | undefined
    if (declaration !== undefined && !isFileOfOurs(declaration)) return
    for (const [position, parameter] of signature.getParameters().entries()) {
      const type = this.#checker.getTypeOfSymbol(parameter)
      if (side === 'library') this.#note(parameter, type, `${path}(${position})`)
      this.#visitType(type, `${path}(${parameter.name})`, side === 'library' ? 'user' : 'library')
    }
    this.#visitType(signature.getReturnType(), `${path}()`, side)
  }

  #note(parameter: ts.Symbol, type: ts.Type, key: string): void {
    const options = this.#optionsIn(type, isOptional(parameter))
    if (options.length === 0) return
    const properties = options.flatMap((one) => one.getProperties())
    const isGroup = (one: ts.Symbol): boolean =>
      this.#optionsIn(this.#checker.getTypeOfSymbol(one), false).length > 0
    const groups = new Set(properties.filter(isGroup).map(({ name }) => name))
    this.found.set(key, { key, types: options.map(nameOf), groups: [...groups] })
  }

  /** The object types in `type` whose properties, or some of them, may be left out. */
  #optionsIn(type: ts.Type, mayBeOmitted: boolean): ts.Type[] {
    if (type.isUnion()) return type.types.flatMap((one) => this.#optionsIn(one, mayBeOmitted))
    const constraint = type.isTypeParameter() ? this.#checker.getBaseConstraintOfType(type) : undefined
    if (constraint !== undefined) return this.#optionsIn(constraint, mayBeOmitted)
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return []
    if (type.getCallSignatures().length > 0 || this.#checker.isArrayType(type)) return []
    const own = type.getProperties().filter((one) => isOurs(one))
    const hasOptional = own.some((one) => one.flags & ts.SymbolFlags.Optional)
    const isNamed = nameOf(type).endsWith('Options')
    return own.length > 0 && (hasOptional || isNamed || mayBeOmitted) ? [type] : []
  }
}

function nameOf(type: ts.Type): string {
  // An intersection has none, nor does an object that is written in place.
  const symbol = (type.aliasSymbol ?? type.symbol) as ts.Symbol | undefined
  return symbol === undefined || symbol.name.startsWith('__') || !isOurs(symbol) ? '{}' : symbol.name
}

function isReference(type: ts.Type): type is ts.TypeReference {
  const { objectFlags = 0 } = type as Partial<ts.ObjectType>
  return Boolean(type.flags & ts.TypeFlags.Object && objectFlags & ts.ObjectFlags.Reference)
}

function isOptional({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(
    (one) => ts.isParameter(one) && (one.questionToken !== undefined || one.initializer !== undefined),
  )
}

function isOurs(symbol: ts.Symbol | undefined): boolean {
  const { declarations = [] } = symbol ?? {}
  return declarations.length === 0 || declarations.some((one) => isFileOfOurs(one))
}

function isFileOfOurs(node: ts.Node): boolean {
  return node.getSourceFile().fileName.startsWith(`${ROOT}src/`)
}

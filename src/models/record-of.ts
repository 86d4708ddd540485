import type { Model } from './model.ts'
import type { ModelDefinitions, Models } from './models.ts'
import type { InputOf, StandardSchema } from './standard-schema.ts'

/** The names of the types that `M` declares. `M` is the argument or the result of {@link defineModels}. */
export type TypeName<M> = `${keyof DefinitionsOf<M> & string}`

/** A record of the type `T`: the input fields of its schema, and `id`. Readonly at every level. */
export type RecordOf<M, T extends TypeName<M>> = AsRecord<InputFor<M, T>>

/** The input fields of the type `T`, without the `id`. */
export type FieldsOf<M, T extends TypeName<M>> = WithoutId<InputFor<M, T>>

/** The input type of the schema of the type `T`. */
export type InputFor<M, T extends TypeName<M>> = InputOf<SchemaOf<DefinitionsOf<M>[T]>>

/** The definitions passed to {@link defineModels}. */
export type DefinitionsOf<M> =
  M extends Models<infer Definitions> ? Definitions : M extends ModelDefinitions ? M : never

type SchemaOf<Definition> =
  Definition extends Model<infer Schema> ? Schema : Definition extends StandardSchema ? Definition : never

// Distributes over a union of shapes.
type AsRecord<Input> = Input extends unknown ? WithoutId<Input> & { readonly id: string } : never

type WithoutId<Input> = Input extends unknown
  ? { readonly [Field in keyof Input as Field extends 'id' ? never : Field]: DeepReadonly<Input[Field]> }
  : never

// Keep branded strings and numbers, which are objects only to the type checker. An array type is inferred from its
// elements, whose types are resolved only when they are used, so that they may be recursive.
type DeepReadonly<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends readonly (infer Element)[]
    ? Element[] extends Value
      ? readonly DeepReadonly<Element>[]
      : { readonly [Place in keyof Value]: DeepReadonly<Value[Place]> }
    : Value extends object
      ? { readonly [Field in keyof Value]: DeepReadonly<Value[Field]> }
      : Value

import type { Model } from './model.ts'
import type { ModelDefinitions, Models } from './models.ts'
import type { InputOf, StandardSchema } from './standard-schema.ts'

/** The names of the types that `M` declares. `M` is what {@link defineModels} takes or gives. */
export type TypeName<M> = `${keyof DefinitionsOf<M> & string}`

/** A record of the type `T`: the fields that its schema takes, and `id`; readonly, whatever it nests. */
export type RecordOf<M, T extends TypeName<M>> = AsRecord<InputFor<M, T>>

/** What is written when a record of the type `T` is made: its fields, without the `id`. */
export type FieldsOf<M, T extends TypeName<M>> = WithoutId<InputFor<M, T>>

/** What the schema of the type `T` takes. */
export type InputFor<M, T extends TypeName<M>> = InputOf<SchemaOf<DefinitionsOf<M>[T]>>

/** What was given to {@link defineModels}. */
export type DefinitionsOf<M> =
  M extends Models<infer Definitions> ? Definitions : M extends ModelDefinitions ? M : never

type SchemaOf<Definition> =
  Definition extends Model<infer Schema> ? Schema : Definition extends StandardSchema ? Definition : never

// Distributes over a union of shapes.
type AsRecord<Input> = Input extends unknown ? WithoutId<Input> & { readonly id: string } : never

type WithoutId<Input> = Input extends unknown
  ? { readonly [Field in keyof Input as Field extends 'id' ? never : Field]: DeepReadonly<Input[Field]> }
  : never

// A brand makes an object of what is none. A list is named by its elements, which are then looked into only as far as is
// asked: they may nest their own kind.
type DeepReadonly<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends readonly (infer Element)[]
    ? Element[] extends Value
      ? readonly DeepReadonly<Element>[]
      : { readonly [Place in keyof Value]: DeepReadonly<Value[Place]> }
    : Value extends object
      ? { readonly [Field in keyof Value]: DeepReadonly<Value[Field]> }
      : Value

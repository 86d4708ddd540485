/** Brings texts into a form in which equal letters are the same characters. */
export class Letters {
  readonly #collator: Intl.Collator
  readonly #forms = new Map<string, string>()

  /** `collator` decides which letters are equal. */
  constructor(collator: Intl.Collator) {
    this.#collator = collator
  }

  get options(): Intl.ResolvedCollatorOptions {
    return this.#collator.resolvedOptions()
  }

  of(text: string): string {
    let letters = ''
    for (const letter of text.normalize('NFC')) letters += this.#formOf(letter)
    return letters
  }

  #formOf(letter: string): string {
    const known = this.#forms.get(letter)
    if (known !== undefined) return known
    const form = formsOf(letter, this.options.locale).find(
      (other) => this.#collator.compare(letter, other) === 0,
    )
    this.#forms.set(letter, form ?? letter)
    return form ?? letter
  }
}

/** The forms that can replace a letter, simplest first: nothing; without accents and case; without case. */
function formsOf(letter: string, locale: string): readonly string[] {
  const plain = letter.toUpperCase().normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return ['', plain, letter.toLocaleLowerCase(locale)]
}

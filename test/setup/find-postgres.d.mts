export declare function findPostgres(): string | undefined

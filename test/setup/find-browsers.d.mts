export declare function findChromium(): string | undefined
export declare function findFirefox(): string | undefined
export declare function findWebKit(): string | undefined
export declare function findXvfb(): string | undefined

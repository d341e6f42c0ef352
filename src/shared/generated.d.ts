// Modules that the build writes (config/validators-module.ts). Their importers give the types.
declare module '#generated/*';
